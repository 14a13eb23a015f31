"""What can be read from the states that a rollout kept."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.options import Json


def probe(
    trace: Annotated[Positional[Path], arg(metavar="TRACE", help="What `videopred rollout --trace` wrote.")],
    *,
    json_: Json = False,
) -> None:
    """Say what can be read from a model's states: places, labels and modes."""
    check.existing_file("TRACE", trace, "make it with `videopred rollout RUN DATA --trace FILE`")
    from videopred.judging.probing import probe_trace

    report = probe_trace(trace)
    if json_:
        terminal.print_json(report)
    else:
        terminal.print_rows(report)
