"""Chromium, spoken to through a pipe: a page as it is drawn while time passes."""

import base64
import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
]


class Tab:
    """A page that stays open."""

    def __init__(self, words: int, answers: int) -> None:
        self._words, self._answers = os.fdopen(words, "wb", 0), os.fdopen(answers, "rb")
        self._session: dict[str, str] = {}
        self._asked = 0

    def ask(self, method: str, **values: Any) -> dict[str, Any]:
        """What the browser answers to one order of its DevTools protocol; what it says meanwhile is passed over."""
        self._asked += 1
        order = {"id": self._asked, "method": method, "params": values} | self._session
        self._words.write(json.dumps(order).encode() + b"\0")
        while (said := self._answer()).get("id") != self._asked:
            pass
        assert "error" not in said, said
        return said["result"]

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        said = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def picture(self) -> np.ndarray:
        """What is seen now, (H, W, 3) uint8."""
        png = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))

    def open(self, page: Path) -> None:
        """Go to a page, and wait until all of it is there."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.ask("Page.enable")
        self.ask("Page.navigate", url=page.as_uri())
        while self._answer().get("method") != "Page.loadEventFired":
            pass

    def _answer(self) -> dict[str, Any]:
        letters = bytearray()
        while (letter := self._answers.read(1)) != b"\0":
            assert letter, "the browser ended"
            letters += letter
        return json.loads(letters)


@contextmanager
def opened(page: Path, folder: Path, width: int = 900, height: int = 1500) -> Iterator[Tab]:
    """The page in a browser of its own."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    place = [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}", "--remote-debugging-pipe"]
    # The browser reads orders from 3 and answers on 4; a shell puts the pipes there.
    shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    browser = subprocess.Popen(
        ["bash", "-c", shell, "bash", str(CHROMIUM), *QUIET, *place],
        pass_fds=(theirs_in, theirs_out),
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    tab = Tab(ours_out, ours_in)
    try:
        tab.open(page)
        yield tab
    finally:
        browser.terminate()
        browser.wait()
