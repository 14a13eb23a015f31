"""The command that examines this machine."""

from typing import Annotated

from tyro.conf import arg

from videopred import check
from videopred.commands import terminal
from videopred.commands.options import Device, Json


def doctor(
    *,
    self_test: Annotated[
        bool,
        arg(
            help="Leave out the self test, which makes data, trains, scores and draws, all tiny, in some seconds.",
            help_behavior_hint="",
        ),
    ] = True,
    device: Device = "auto",
    json_: Json = False,
) -> None:
    """Check what this machine has and lacks, and try the whole flow on it."""
    check.device_kind(device)
    if self_test:
        terminal.say_that_it_takes("some seconds")
    from videopred.doctor import examine

    found = examine(device=device, self_test=self_test)
    if json_:
        terminal.print_json(found.rows | {"faults": found.faults})
    else:
        for title, rows in found.rows.items():
            print(title)
            terminal.print_rows(rows)
    if found.faults:
        raise OSError("; and ".join(found.faults))
