"""What holds of every page, read off its HTML."""

from html.parser import HTMLParser

_VOID = {"meta", "link", "img", "br"}


class Page(HTMLParser):
    """A page, taken apart; `faults` says what is wrong with it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.words: list[str] = []
        self.charts: list[str] = []
        self._open: list[str] = []
        self._level = 0
        self.feed(text)
        self.faults += [f"{tag} is not closed" for tag in self._open]

    @property
    def text(self) -> str:
        """What is read, words with one space between them."""
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag not in _VOID:
            self._open.append(tag)
        if tag in ("script", "iframe", "object", "embed", "form"):
            self.faults.append(f"there is a {tag}")
        self.faults += [f"{tag} has {name}" for name in said if name.startswith("on")]
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            place = said.get(name) or "#"
            if not place.startswith(("#", "data:")):
                self.faults.append(f"{tag} asks for {place}")
        if tag[0] == "h" and tag[1:].isdecimal():
            if int(tag[1:]) > self._level + 1:
                self.faults.append(f"{tag} comes after h{self._level}")
            self._level = int(tag[1:])
        if tag == "img":
            self.images.append(said)
            if not said.get("alt"):
                self.faults.append("an img has no alt")
        if tag == "svg" and said.get("aria-hidden") != "true":
            self.charts.append(said.get("aria-label") or "")
            if not said.get("aria-label") or said.get("role") != "img":
                self.faults.append("an svg says nothing")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"{tag} closes {self._open[-1] if self._open else 'nothing'}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["style"]:
            self.faults += [f"the style has {word}" for word in ("url(", "@import", "<") if word in data]
        else:
            self.words.append(data)
