"""The command line: a table of commands, and the way from words to one of them and to an exit status.

Only light modules are imported here, and torch inside the commands, so that help and every usage error are instant.
Results go to stdout, progress and complaints to stderr. Exit status: 0 fine, 1 failure (missing or damaged files
and diverged training are such), 2 wrong words, 130 interrupted, 141 whoever read the output stopped reading.
"""

import errno
import io
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, NoReturn, get_args

from tyro.conf import OmitArgPrefixes

from videopred import check, flags, systems
from videopred.commands import (
    benchmarks,
    comparison,
    data,
    doctor,
    models,
    pictures,
    plausibility,
    probes,
    reproducing,
    runs,
    scores,
    start,
    terminal,
    training,
)
from videopred.datasets import DATASETS, read_recipe
from videopred.flags import model_flags
from videopred.interrupt import as_ctrl_c
from videopred.printable import STAND_INS, printable_lines
from videopred.synonyms import meant_command
from videopred.user_errors import with_place

GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "to begin with": {
        "demo": start.demo,
        "list": start.list_shelves,
        "doctor": doctor.doctor,
    },
    "making: recipe -> states -> frames -> HDF5 file": {
        "generate": data.generate,
        "import": data.import_,
        "inspect": data.inspect,
        "verify": data.verify,
        "export intphys": data.export,
        "cards": data.cards,
    },
    "learning: HDF5 file -> loader -> encoder -> core over time -> decoder -> loss": {
        "train": training.train,
        "reproduce": reproducing.reproduce,
        "runs": runs.runs,
        "export": runs.export,
        "check-core": models.check_core,
    },
    "judging: trained run + file -> rollout -> scores by horizon -> pictures and report": {
        "evaluate": scores.evaluate,
        "compare": comparison.compare,
        "render": pictures.render,
        "report": runs.report,
        "plausibility": plausibility.plausibility,
        "rollout": models.rollout,
        "probe": probes.probe,
    },
    "measuring speed": {
        "bench generate": benchmarks.bench_generate,
        "bench cores": benchmarks.bench_cores,
        "bench scores": benchmarks.bench_scores,
        "bench train": benchmarks.bench_train,
    },
}
"""What a group is about -> its commands, in the order of the opening screen."""

_PYTHONS_WORDS = warnings.formatwarning

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit with its status. With VIDEOPRED_TRACEBACK set, failures show where they arose."""
    _set_up()
    interrupt = as_ctrl_c()
    try:
        try:
            with interrupt:  # SIGTERM, too, as of `kill`: what is half written goes away
                run(list(sys.argv[1:] if argv is None else argv))
        finally:  # here, where it is known what to say if nobody reads on; also behind help, which exits by itself
            sys.stdout.flush()
    except KeyboardInterrupt as interrupted:
        _end_interrupted(str(interrupted))
    except Exception as error:
        if interrupt.asked:  # a library that was being loaded took the interrupt for a fault of its own
            _end_interrupted()
        if systems.is_broken_pipe(error):  # whoever read our output, such as `head`, has had enough
            _exit(141)  # as tools that die of SIGPIPE
        told = with_place(error)
        said = _in_our_words(told)
        if said is None or os.environ.get("VIDEOPRED_TRACEBACK"):
            raise
        usage = isinstance(told, ValueError | TypeError)
        _end(said, 2 if usage and not isinstance(told, check.FailedError | UnicodeEncodeError) else 1)
    _exit(0)


def hear_no_more() -> None:
    """Have the exit status stay as it is, whatever a batch system sends while Python ends; Ctrl-C ends that at once."""
    for number in systems.stop_signals():
        signal.signal(number, signal.SIG_IGN)


def _end_interrupted(said: str = "") -> NoReturn:
    _end(f"interrupted; {said or 'what is saved is whole'}", 130)


def _end(said: str, status: int) -> NoReturn:
    """Say one line, whether or not anybody reads it, and exit."""
    with suppress(OSError):
        print(f"videopred: {printable_lines(said)}", file=sys.stderr)
    _exit(status)


def _exit(status: int) -> NoReturn:
    """Exit. Python would do so with 120 if it could not write the rest of what nobody reads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(status)


def _set_up() -> None:
    """Make this process ready for any command, however it was started."""
    # Threads that spin crawl when anything else runs; torch reads this once, when it is first imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.modules["__main__"].__spec__ is None:  # not `python -m`, which may have found the package right here
        # Else the workers of loaders would import files of the current folder in the place of modules of Python.
        os.environ.setdefault("PYTHONSAFEPATH", "1")
    _take_standard_places()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # whoever started us closed it, as `>&-` does
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # which may have no letter for an arrow or a name
            stream.reconfigure(errors=STAND_INS)
    warnings.formatwarning = _in_one_line


def _take_standard_places() -> None:
    """Have descriptors 0 to 2 lead nowhere where whoever started us closed them, for processes that we start as well.

    Else files that are opened next get these numbers, and what libraries of C print goes into them.
    """
    lowest = os.open(os.devnull, os.O_RDWR)
    while lowest <= 2:
        os.set_inheritable(lowest, True)
        lowest = os.dup(lowest)
    os.close(lowest)


def _in_one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning of ours as the user's other lines are; of a library, as Python words it, with the place it is from."""
    if filename.startswith(os.path.dirname(__file__)):
        return f"videopred: warning: {message}\n"
    return _PYTHONS_WORDS(message, category, filename, lineno, line)


def _in_our_words(error: Exception) -> str | None:
    """What to say of an error that a user can do something about; None of any other, which is a fault of ours."""
    match error:
        case UnicodeEncodeError():  # a path that Python could not read as text, which some file must tell
            [word, *_] = re.findall(r"\S*[\ud800-\udfff]\S*", error.object) or [error.object]
            got = word.encode(errors="surrogateescape").decode(errors="replace")
            must, fix = "be text in UTF-8", "set PYTHONUTF8=1 if they are, or rename them"
            return check.complaint("names of files and folders", must, got, fix)
        case OSError() if error.errno == errno.ENAMETOOLONG and error.filename is not None:
            return check.complaint(str(error.filename), "have short names", error.strerror, "choose shorter ones")
        case OSError() if error.filename is not None:
            fix = "look after its disk, and whether it was moved or deleted meanwhile; then give the command again"
            if isinstance(error, PermissionError):
                fix = systems.PERMISSIONS
            path = " -> ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
            return check.complaint(path, "be accessible", error.strerror, systems.with_closing(fix, error))
        case MemoryError():
            got = str(error) or "no more"  # as Pillow's
            return check.complaint("memory", "be enough for what is held at once", got, "ask for less at a time")
        case PackageNotFoundError(name="videopred"):  # whoever put the files in reach of Python did no more
            return check.complaint("videopred", "be installed", "its files alone", "run `pip install .` beside them")
        case RuntimeError() if re.fullmatch(r"operator torchvision::\S+ does not exist", str(error)):
            fix = "install both anew, from one place, as with `pip install --force-reinstall torch torchvision`"
            return check.complaint("torchvision", "be made for the torch that is installed", error, fix)
        case ImportError() if not (error.name or "").startswith("videopred"):
            fix = "allow more memory if `ulimit -v` limits it; else install videopred in a new environment"
            return check.complaint("libraries", "be such that Python can load them", error, fix)
        case ValueError() | TypeError() | OSError():
            return str(error)
        case _ if more := systems.lacking_memory(error):  # as torch says that the machine's is used up
            must, fix = "be enough for the model and what it reads at once", "take a smaller model or --batch-size"
            return check.complaint("memory", must, f"no {more} more", fix)
    return None


def _require_current_folder() -> None:
    """Raise FileNotFoundError if it was deleted: libraries then end the process, each in its own way."""
    try:
        Path.cwd()
    except FileNotFoundError:
        fix = "go to another, as with cd"
        raise FileNotFoundError(
            check.complaint("the current folder", "be there", "one that was deleted", fix)
        ) from None


def run(argv: list[str]) -> None:
    """Run one command, given as the words after `videopred`.

    Raises:
        ValueError: an unknown command, preset, core or metric, or values that do not fit together.
        SystemExit: the status of tyro, which has printed its help or its complaint.
    """
    _require_current_folder()
    if argv[:1] == ["help"]:
        argv = [*argv[1:], "--help"]
    if not argv or argv[0] in ("-h", "--help"):
        _print_opening()
        return
    if argv[0] in ("-V", "--version"):
        print(f"videopred {version('videopred')}")
        return
    longer = _beginning_with(argv[0])
    if longer and argv[0] not in COMMANDS and argv[1:] in ([], ["-h"], ["--help"]):
        print(f"usage: videopred {argv[0]} COMMAND [OPTIONS]\n")
        terminal.print_rows({name: terminal.first_line(COMMANDS[name]) for name in longer})
        return
    with terminal.only_json() if "--json" in argv and {"-h", "--help"}.isdisjoint(argv) else nullcontext():
        _run_command(*_command_and_its_words(argv))


def _run_command(name: str, words: list[str]) -> None:
    """Run the command of that name with the words after it."""
    command = COMMANDS[name]
    if name == "generate":
        preset = _first("PRESET", words, "balls4", "videopred generate balls4 --seed 1")
        if preset.endswith(".json"):
            recipe = read_recipe("PRESET", "be a recipe if it is JSON", Path(preset))
        else:
            recipe = DATASETS[check.one_of("PRESET", preset, DATASETS)].recipe
        command = flags.with_default(command, "recipe", recipe, Annotated[type(recipe), OmitArgPrefixes])
    if name == "train":
        command = model_flags.with_model_flags(command, words)
    if name == "check-core":
        named = _first("CORE", words, "rims", "videopred check-core rims --json")
        with check.named({"--core": "CORE"}):
            core = model_flags.core_flags(named, words)
        command = flags.with_default(command, "core", core, type(core))
    given = flags.read(command, name, words)
    if name == "train":
        model_flags.check_codec_used(given, words)
    command(**given)


def _command_and_its_words(argv: list[str]) -> tuple[str, list[str]]:
    """The name of a command, which is one word or two, and the words after it.

    Raises:
        ValueError: there is no such command; if there are others that begin so, these are the choices.
    """
    two_words = " ".join(argv[:2])
    longer = _beginning_with(argv[0])
    if two_words in longer or (longer and argv[0] not in COMMANDS):
        return check.one_of("COMMAND", two_words, longer), argv[2:]
    must, fix = f"be one of {', '.join(COMMANDS)}", f"`videopred list {argv[0]}` shows them"
    check.require(argv[0] not in get_args(start.Shelf), "COMMAND", must, argv[0], fix)
    meant = meant_command(argv[0])
    check.require(meant is None, "COMMAND", must, argv[0], f"did you mean {meant}?")
    return check.one_of("COMMAND", argv[0], COMMANDS), argv[1:]


def _beginning_with(word: str) -> list[str]:
    """The commands of two words whose first this is."""
    return [name for name in COMMANDS if name.startswith(f"{word} ")]


def _first(what: str, words: Sequence[str], default: str, example: str) -> str:
    """The first word, which decides what flags there are; the default if there is none or help is asked for.

    Raises:
        ValueError: an option comes first. Later words may be its values, so none of them is surely the one.
    """
    word = next((word for word in words if word not in ("-h", "--help")), default)
    if word.startswith("-") and not {"-h", "--help"}.isdisjoint(words):
        return default
    fix = f"put {what} first, as in `{example}`"
    check.require(not word.startswith("-"), what, "come before the options", word, fix)
    return word


def _print_opening() -> None:
    """What there is, by group, and where to begin."""
    print("usage: videopred COMMAND [OPTIONS]\n\nObject-centric video prediction, from the data to the GIF.")
    print("Start here: `videopred demo` makes data, trains, scores and draws, in one to four minutes.\n")
    width = max(map(len, COMMANDS))
    for title, group in GROUPS.items():
        print(title)
        terminal.print_rows({name.ljust(width): terminal.first_line(command) for name, command in group.items()})
        print()
    print("`videopred COMMAND --help` shows the options of a command.")
