"""Signals are held, told to what is around, and given back as they were."""

import signal
import threading

import pytest

from videopred.interrupt import HeldInterrupt, as_ctrl_c, pass_on, stop_if_lost


def test_outside_the_main_thread_signals_are_left_alone():
    handler = signal.getsignal(signal.SIGINT)
    seen = []

    def listen() -> None:
        with HeldInterrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [handler]


def test_a_signal_that_is_not_python_s_is_left_alone(monkeypatch):
    """As where a program in which Python runs has put its own handler in place."""
    of = signal.getsignal
    before = [of(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGTERM else of(number))
    with HeldInterrupt() as held:
        assert of(signal.SIGTERM) is before[1]
        signal.raise_signal(signal.SIGINT)
        assert held.heard == "SIGINT"
    assert [of(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_what_comes_after_is_told_also_where_ctrl_c_is_ignored():
    """As shells have it for what runs in the background."""
    before, late = signal.signal(signal.SIGINT, signal.SIG_IGN), HeldInterrupt(unignored=True)
    try:
        with as_ctrl_c():
            pass_on(late)
            stop_if_lost()
            late.asked, late.heard = True, "SIGTERM"
            pass_on(late)
            with pytest.raises(KeyboardInterrupt):
                stop_if_lost()
    finally:
        signal.signal(signal.SIGINT, before)
