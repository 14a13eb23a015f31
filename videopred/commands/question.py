"""What `videopred evaluate` is asked: what flags say, and for the rest a named protocol or the data."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from videopred import check
from videopred.eval.protocols import PROTOCOLS, Card
from videopred.eval.settings import Protocol, flag_name

if TYPE_CHECKING:
    from videopred.datasets.clip_source import ClipSource


class Question(NamedTuple):
    """What the flags ask."""

    name: str | None
    """The protocol that --protocol names; None asks freely."""
    said: Mapping[str, Any]
    """Settings of `Protocol` that flags gave, and no others."""

    @property
    def card(self) -> Card | None:
        """The named protocol; None of a free question."""
        return PROTOCOLS[self.name] if self.name else None

    def protocol(self, file: "ClipSource") -> Protocol:
        """The whole question: what the flags leave open comes from the named protocol, or else from the data."""
        if self.card is None:
            context = self.said.get("context", file.context)
            horizon = file.horizon if file.context else file.frames - context  # of films alone, all that follow
            return Protocol(**{"context": context, "horizon": horizon, **self.said})
        assert self.card.protocol is not None  # `check_words` has refused the others
        usual = self.card.protocol.model_dump()
        if self.said.get("feedback") == "sample" and self.card.samples_when_sampled > 1:
            usual |= {"feedback": "sample", "samples": self.card.samples_when_sampled}
        changed = tuple(flag_name(word) for word, value in self.said.items() if value != usual[word])
        return Protocol(**{**usual, **self.said, "changed": changed})

    def notes_on_samples(self, drawing: Sequence[str], protocol: Protocol) -> tuple[str, ...]:
        """That one film of each clip is judged of models that draw, where the named protocol is of the best of several.

        Args:
            drawing: names of models that draw in evaluation, whatever is fed back.
            protocol: what is asked.
        """
        asked = self.card.samples_when_sampled if self.card else 1
        if not drawing or protocol.samples > 1 or asked == 1:
            return ()
        told = f"where {self.name} is of the best of {asked}: --samples {asked} judges as many"
        return (f"one film of each clip was judged of {' and '.join(drawing)}, {told}",)

    def check_words(self, least_context: int) -> None:
        """Refuse words that mean nothing, or contradict the named protocol.

        Args:
            least_context: frames that must be given at least.

        Raises:
            ValueError: one of them does; the message names it.
        """
        said = self.said
        check.threshold_of(said.get("feedback", "soft"))
        check.whole_number("--samples", said.get("samples", 1), 1, "1 asks for a single film of each clip")
        start = "give at least one frame to start from" if least_context else "0 says that every frame was predicted"
        check.whole_number("--context", said.get("context", 1), least_context, start)
        check.whole_number("--horizon", said.get("horizon", 1), 1, "ask for at least one frame")
        check.whole_number("--first", said.get("clips", 1), 1, "score at least one clip")
        if self.name is not None:
            self._check_words_fit_the_protocol(check.one_of("--protocol", self.name, PROTOCOLS))

    def _check_words_fit_the_protocol(self, name: str) -> None:
        card, freely = PROTOCOLS[name], "leave --protocol out to ask freely"
        fix = f"use `videopred {card.command}`"
        check.require(card.protocol is not None, "--protocol", "be one that evaluate answers", name, fix)
        for word in ("part", "context", "horizon"):
            must = f"be left out with --protocol {name}, which says it"
            check.require(word not in self.said, f"--{word}", must, self.said.get(word), freely)
        fed, one_step = self.said.get("feedback"), card.protocol is not None and card.protocol.one_step
        must = f"be true or left out with --protocol {name}" if one_step else f"not be true with --protocol {name}"
        check.require(fed is None or (fed == "true") == one_step, "--feedback", must, fed, freely)

    def check_words_about_films(self) -> None:
        """Refuse words that mean nothing of films made elsewhere: of each clip there is one, and it is made already.

        Raises:
            ValueError: one of them was said.
        """
        fed, fix = self.said.get("feedback", "true"), "true says that each frame was predicted from the true ones"
        check.require(fed == "true", "--feedback", "be true or left out with --pred", fed, fix)
        fix = "an N in --axes says which axis of an array is that of the films of a clip"
        samples = self.said.get("samples")
        check.require(samples is None, "--samples", "be left out with --pred", samples, fix)
