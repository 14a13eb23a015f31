"""Amounts as people say them: things that are counted, bytes, and durations."""

from collections.abc import Mapping
from typing import Any


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as 1 frame, 2 frames and 50,000 clips."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def number_told(value: float) -> str:
    """A number in six digits, or in all that it has if these would make it whole: 0.333333, but 1.0000003, not 1."""
    short = f"{value:g}"
    return short if float(short) == value or not float(short).is_integer() else repr(float(value))


def four_digits(value: float) -> str:
    """A number in four digits, or in all before its point if it has more, up to nine: 0.01234, 12345, 1.234e+12."""
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e9 else f"{value:.4g}"


def parts_told(clips: Mapping[str, int]) -> str:
    """How many clips each part has: 2,000 train, 200 test."""
    return ", ".join(f"{count:,} {part}" for part, count in clips.items())


def shapes_told(arrays: Mapping[str, Any]) -> str:
    """Arrays or tensors by their names and shapes: frames (20, 24, 32, 1), events (20,)."""
    return ", ".join(f"{name} {tuple(array.shape)}" for name, array in arrays.items())


def size(count: float) -> str:
    """Bytes in the largest unit that fits: 1 byte, 512 bytes, 15 kB, 1.6 MB, 119 MB, 2.3 GB."""
    unit, *larger = "byte" if count == 1 else "bytes", "kB", "MB", "GB", "TB"
    while count >= 999.5 and larger:
        count, (unit, *larger) = count / 1000, larger
    return f"{count:.2g} {unit}" if count < 9.95 else f"{count:.0f} {unit}"


def duration(seconds: float) -> str:
    """In the two largest units that fit: 0.4 s, 35 s, 2 min 5 s, 3 h 10 min, 8 days 0 h."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{counted(days, 'day')} {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
