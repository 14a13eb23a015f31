"""Ctrl-C, and what batch systems send, heard at a good moment instead of in the middle of things."""

import signal
import threading
from typing import Any, Literal

from videopred.systems import stop_signals


class HeldInterrupt:
    """Within it Ctrl-C and `stop_signals` only set `asked`; who works there looks at it where stopping does no harm.

    Outside the main thread, where Python forbids to listen, it does nothing; handlers that are not Python's stay.

    Args:
        urgent: a second Ctrl-C raises KeyboardInterrupt at once; else it is held as well.
        at_first: what is done with signals until `listen` is called: hold; raise KeyboardInterrupt at once, besides
            setting `asked`, as what is raised while an object ends is lost; or leave them to the system.
        unignored: leave signals alone that whoever started this process has it ignore, as shells do with Ctrl-C for
            what runs in the background.

    Attributes:
        asked: whether somebody asked to stop.
        heard: the name of the signal that asked first, such as SIGINT; empty before.
    """

    def __init__(
        self,
        *,
        urgent: bool = False,
        at_first: Literal["hold", "raise", "system"] = "hold",
        unignored: bool = False,
    ) -> None:
        self.asked, self.heard, self._urgent = False, "", urgent
        self._left = (None, signal.SIG_IGN) if unignored else (None,)
        self._at_first = {"hold": self._hear, "raise": self._raise, "system": signal.SIG_DFL}[at_first]

    def stop_if_asked(self) -> None:
        """Raise KeyboardInterrupt if somebody asked to stop."""
        if self.asked:
            raise KeyboardInterrupt

    def listen(self) -> None:
        """Hold signals from now on, also where somebody else has put handlers of his own in place."""
        self._handle(self._hear)

    def __enter__(self) -> "HeldInterrupt":
        listens = threading.current_thread() is threading.main_thread()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *stop_signals()) if listens}
        # None is not Python's, as of a program that Python runs in, and cannot be put back.
        self._before = {number: handler for number, handler in handlers.items() if handler not in self._left}
        self._handle(self._at_first)
        return self

    def __exit__(self, *error: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, handler: Any) -> None:
        for number in self._before:
            signal.signal(number, handler)

    def _hear(self, number: int, frame: Any) -> None:
        if self.asked and self._urgent and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked, self.heard = True, self.heard or signal.Signals(number).name

    def _raise(self, number: int, frame: Any) -> None:
        self._hear(number, frame)
        raise KeyboardInterrupt


def as_ctrl_c() -> HeldInterrupt:
    """Within it SIGTERM, SIGUSR1 and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, unless they are ignored."""
    return HeldInterrupt(at_first="raise", unignored=True)


def stop_if_lost() -> None:
    """Raise KeyboardInterrupt if a `HeldInterrupt` around has raised one that was lost, or was told of one."""
    if around := _around():
        around.stop_if_asked()


def pass_on(held: HeldInterrupt) -> None:
    """Tell the `HeldInterrupt` around, if there is one, of a signal that came too late for what was going on."""
    if held.asked and (around := _around()):
        around.asked, around.heard = True, around.heard or held.heard


def _around() -> HeldInterrupt | None:
    """What hears signals now."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, *stop_signals())]
    listening = [getattr(handler, "__self__", None) for handler in handlers]
    return next((one for one in listening if isinstance(one, HeldInterrupt)), None)
