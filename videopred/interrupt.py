"""Ctrl-C heard at a good moment instead of in the middle of things."""

import signal
import threading
from typing import Any


class HeldInterrupt:
    """Within it Ctrl-C only sets `asked`; whoever works there looks at it where stopping does no harm.

    Outside the main thread, where Python forbids to listen, it does nothing.

    Args:
        urgent: a second Ctrl-C raises KeyboardInterrupt at once; else it is held as well.

    Attributes:
        asked: whether somebody pressed Ctrl-C.
    """

    def __init__(self, *, urgent: bool = False) -> None:
        self.asked, self._urgent = False, urgent

    def stop_if_asked(self) -> None:
        """Raise KeyboardInterrupt if somebody pressed Ctrl-C."""
        if self.asked:
            raise KeyboardInterrupt

    def __enter__(self) -> "HeldInterrupt":
        self._listens = threading.current_thread() is threading.main_thread()
        if self._listens:
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, *signalled: Any) -> None:
        if self.asked and self._urgent:
            raise KeyboardInterrupt
        self.asked = True
