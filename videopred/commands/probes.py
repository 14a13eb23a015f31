"""What can be read from the states that a rollout kept."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from videopred import check_path
from videopred.commands import terminal
from videopred.commands.options import Json

_MEANINGS = {
    "r2": "share of the variance that a linear map reads from states: 1 is all, 0 the best constant guess",
    "error_px": "mean distance in px of the positions read from the true ones; mean_error_px: the same for that guess",
    "error_px_per_frame": "the same of velocities",
    "accuracy": "share of labels read correctly; commonest: the same if the most common label is always said",
    "nmi": "normalised mutual information of choices and label, from 0 to 1; nmi_by_chance: with shuffled labels",
    "purity": "share of steps with the most common label among those with the same choices; likewise by chance",
    "modules": "r2, accuracy or nmi of each module alone",
    "active": "share of steps at which each module is active",
    "schema": "share of each schema in all choices",
    "null_attention": "mean share of each module's attention on the null slot",
    "top_down": "mean share of each module's attention on the layer above",
}
"""Last word of a row, without the name of a layer -> what its number says."""

_NOTHING = "–"
"""What stands for a number that there is not."""
_SLACK = 0.05
"""How much lower r2 may be than of a map that ignores more, before a user is told that there are too few clips."""


def probe(
    trace: Annotated[Positional[Path], arg(metavar="TRACE", help="What `videopred rollout --trace` wrote.")],
    *,
    json_: Json = False,
) -> None:
    """Measure what can be read from a model's states: positions, velocities, labels and modes."""
    check_path.existing_file("TRACE", trace, "make it with `videopred rollout RUN DATA --trace FILE`")
    from videopred.judging.probing import probe_trace

    report = probe_trace(trace)
    if json_:
        terminal.print_json(report)
    else:
        shown = _dashed(report)
        terminal.print_rows(shown)
        there = {name for told in report.values() if isinstance(told, dict) for name in _words(told)}
        print()
        terminal.print_rows({name: meaning for name, meaning in _MEANINGS.items() if name in there})
        if shown != report:
            print(f"\n{_NOTHING}: no object is in the clips fitted or scored, or what would be read is always the same")
        if any(_fits_noise(report.get(name, {})) for name in ("positions", "velocities")):
            print("\nr2 far below 0, or lower for all modules than for one, comes from too few clips; roll out more")


def _dashed(told: Any) -> Any:
    """The same with a dash for each number that there is not."""
    if isinstance(told, Mapping):
        return {name: _dashed(value) for name, value in told.items()}
    if isinstance(told, list):
        return list(map(_dashed, told))
    return _NOTHING if told is None else told


def _fits_noise(places: Mapping[str, Any]) -> bool:
    """Whether a map is worse than a constant guess, or that from all modules worse than that from one of them.

    It could ignore its states, or the other modules. So it was fitted to the noise of too few clips.
    """
    alone = [r2 for r2 in places.get("modules", []) if r2 is not None]
    return bool(alone) and (min(alone) < -_SLACK or places["r2"] < max(*alone, 0) - _SLACK)


def _words(told: Mapping[str, Any]) -> Iterator[str]:
    """The last words of rows."""
    for name, value in told.items():
        if isinstance(value, Mapping):
            yield from _words(value)
        else:
            yield name.rpartition(".")[2]
