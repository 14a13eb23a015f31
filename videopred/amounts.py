"""Amounts as people say them: things that are counted, and durations."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as 1 frame and 2 frames."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """In the two largest units that fit: 0.4 s, 35 s, 2 min 5 s, 3 h 10 min, 8 days 0 h."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = whole // 60
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    days, hours = divmod(minutes // 60, 24)
    return f"{days} day{'s' * (days != 1)} {hours} h"
