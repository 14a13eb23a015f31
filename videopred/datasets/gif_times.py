"""How many frames those of a GIF stand for: n equal ones are merged into one that is shown for n periods."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, chain, islice, pairwise

TICK_MS = 10
"""In which GIFs count time."""

Counts = tuple[tuple[int, ...], ...]
"""Of each film, for how many periods each of its frames is shown."""

_SIXTIETH = 5 / 3
"""Period in ticks at 60 frames a second, the only one near a tick that can be told by when frames begin."""
_SIXTIETHS = ({0, 2, 3}, {0, 1, 3}, {0, 2, 4})
"""When frames begin at 60 frames a second, in ticks modulo 5: at the nearest tick, the one before, the one after."""

_EXCESS: dict[Callable[[Fraction], int], Fraction] = {
    math.floor: Fraction(0),
    round: Fraction(1, 2),
    math.ceil: Fraction(1),
}
"""Rule by which a time became whole ticks -> the most by which the whole number can exceed the true time, in ticks.
It can fall short of it by up to one tick less that."""


def read_times(films: Sequence[Sequence[int]]) -> dict[Counts, float]:
    """All counts that the times of films of one rate may mean, each with a period, in ticks, that it fits.

    The shortest time of a frame is that of one period, which is a sixtieth of a second, or at least two ticks. If all
    others are multiples of it, they mean what they say. Else the period is no whole number of ticks: most writers round
    the moments at which frames follow to ticks, up or down; Pillow merges equal frames first, and then drops what each
    time has beyond whole ticks.

    The last frame is often held until a film begins again. So it counts once if its time fits no rate, or if all others
    are shown for the same time. If these differ and are multiples of the last, that is shown for one period.

    Args:
        films: of each, for how many ticks each frame is shown.

    Returns:
        nothing if frames follow at no rate, or at one that cannot be told.
    """
    told = [film[:-1] or film for film in films]
    shortest, longest, of_all = min(chain(*told)), max(chain(*told)), min(chain(*films))
    if shortest == longest:
        return {tuple((1,) * len(film) for film in films): float(shortest)}
    if 2 <= of_all < shortest and (fits := _as_told(films, of_all)):
        return fits
    if shortest == 0:
        return {}
    if shortest == 1:
        begins = [{begin % 5 for begin in accumulate(film)} for film in told]
        if not all(any(of <= these for these in _SIXTIETHS) for of in begins):
            return {}
        fits = {tuple(tuple(max(1, round(time / _SIXTIETH)) for time in film) for film in films): _SIXTIETH}
    else:
        fits = _fits(_as_told, films, shortest) or _fits(_rounded, films, shortest)
    return {_held(counts): period for counts, period in fits.items()}


def _fits(
    reading: Callable[[Sequence[Sequence[int]], int], dict[Counts, float]],
    films: Sequence[Sequence[int]],
    shortest: int,
) -> dict[Counts, float]:
    """What a reading gives of the films, or else of all but their last frames, which then count once."""
    if of_all := reading(films, shortest):
        return of_all
    before_last = reading([film[:-1] or film for film in films], shortest)
    return {
        tuple((*of_film, 1)[: len(film)] for film, of_film in zip(films, counts, strict=True)): period
        for counts, period in before_last.items()
    }


def _held(counts: Counts) -> Counts:
    """The counts, with one for each last frame if no other is shown for several periods."""
    several = any(count > 1 for film in counts for count in film[:-1] or film)
    return counts if several else tuple((1,) * len(film) for film in counts)


def _as_told(films: Sequence[Sequence[int]], shortest: int) -> dict[Counts, float]:
    """The counts if all times are multiples of the shortest."""
    if any(time % shortest for time in chain(*films)):
        return {}
    return {tuple(tuple(time // shortest for time in film) for film in films): float(shortest)}


def _rounded(films: Sequence[Sequence[int]], shortest: int) -> dict[Counts, float]:
    """All counts that fit if times were cut to ticks, or moments rounded, each with a period."""
    times = list(chain(*films))
    moments = list(chain.from_iterable(accumulate(film) for film in films))
    fits = {_split(counts, films): period for counts, period in _multiples(times, math.floor, shortest, shortest + 1)}
    for rule in _EXCESS:
        for passed, period in _multiples(moments, rule, max(2, shortest - 1), shortest + 1):
            of_films = [pairwise((0, *film)) for film in _split(passed, films)]
            counts = tuple(tuple(after - before for before, after in film) for film in of_films)
            if all(map(all, counts)):
                fits[counts] = period
    return fits


def _split(numbers: Sequence[int], films: Sequence[Sequence[int]]) -> Counts:
    """Of numbers of all frames, those of each film."""
    left = iter(numbers)
    return tuple(tuple(islice(left, len(film))) for film in films)


def _multiples(
    numbers: Sequence[int], rule: Callable[[Fraction], int], low: int, high: int
) -> Iterator[tuple[list[int], float]]:
    """Each way in which numbers are multiples of one period that a rule made whole, and such a period.

    Periods are at least two ticks, so that never two multiples of one come to the same number.

    Args:
        numbers: in ticks.
        rule: one of _EXCESS.
        low, high: the shortest and the longest period to try.
    """
    excess = _EXCESS[rule]
    ranges = [(Fraction(low), Fraction(high))]  # of periods that fit the numbers so far
    for number in numbers:
        least, most = number - excess, number + 1 - excess
        ranges = [
            (shortest, longest)
            for begin, end in ranges
            for count in range(max(1, math.ceil(least / end)), math.floor(most / begin) + 1)
            if (shortest := max(begin, least / count)) <= (longest := min(end, most / count))
        ]
    for begin, end in ranges:
        period = (begin + end) / 2
        counts = [math.ceil((number - excess) / period) for number in numbers]
        if all(rule(count * period) == number for count, number in zip(counts, numbers, strict=True)):
            yield counts, float(period)
