"""Who may import whom, and the one door of each outside library: read off the source, nothing is run."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import videopred.check

PACKAGE = Path(videopred.check.__file__).parent
SHELVES = ("datasets", "models", "eval")
SHARED = {
    "addresses",
    "amounts",
    "check",
    "check_path",
    "explaining",
    "files",
    "frames",
    "interrupt",
    "own_code",
    "printable",
    "run_files",
    "run_record",
    "settings",
    "software",
    "systems",
    "typed_commands",
}

ROOMS: dict[str, set[str]] = {
    "": set(),
    "check": {"printable", "spelling"},
    "check_path": {"amounts", "check", "run_files", "spelling", "systems", "typed_commands"},
    "run_files": set(),
    "run_record": {"check", "files", "run_files"},
    "differing": {"run_files"},
    "software": set(),
    "spelling": {"run_files"},
    "child_process": {"check"},
    "frames": {"amounts", "check"},
    "files": {"check", "check_path", "interrupt", "systems"},
    "explaining": {"check", "synonyms"},
    "synonyms": set(),
    "settings": {"check", "explaining"},
    "systems": {"amounts", "check"},
    "typed_commands": {"systems"},
    "device": {"check", "slurm"},
    "addresses": {"check", "user_errors"},
    "user_errors": {"check", "systems"},
    "amounts": set(),
    "own_code": {"printable"},
    "printable": set(),
    "interrupt": {"systems"},
    "flags": SHARED | {"flags", "models", "experiments", "synonyms", "training", "weights"},
    "experiments": SHARED | {*SHELVES, "command_lines", "experiments"},
    "datasets": SHARED | {"child_process", "datasets", "processes"},
    "models": SHARED | {"models", "synonyms", "user_errors"},
    "eval": SHARED | {"eval", "user_errors"},
    "pictures": SHARED,
    "palette": set(),
    "preview": SHARED | {"palette", "pictures"},
    "bench": SHARED | {*SHELVES, "child_process", "device", "rollout", "checkpoint", "training", "bench"},
    "cards": SHARED | {"datasets", "preview"},
    "plots": SHARED | {"datasets", "eval", "palette", "pictures", "plots", "rendering"},
    "rendering": SHARED | {"palette", "pictures", "models", "rendering"},
    "slurm": set(),
    "processes": {"check", "slurm"},
    "runs": SHARED | {"differing", "eval", "spelling", "training", "weights"},
    "weights": SHARED,
    "checkpoint": SHARED | {"device", "models", "weights"},
    "export": SHARED
    | {
        *SHELVES,
        "checkpoint",
        "command_lines",
        "device",
        "experiments",
        "export",
        "judging",
        "rendering",
        "pictures",
        "training",
        "weights",
    },
    "command_lines": SHARED | {"datasets", "eval"},
    "rollout": SHARED | {"models"},
    "training": SHARED
    | {"datasets", "models", "rollout", "rendering", "checkpoint", "device"}
    | {"training", "pictures", "processes", "slurm", "spelling"},
    "judging": SHARED
    | {
        "judging",
        *SHELVES,
        "rollout",
        "rendering",
        "checkpoint",
        "device",
        "pictures",
        "processes",
        "slurm",
        "runs",
        "weights",
    },
    "surprise": SHARED | {"datasets", "eval", "rollout", "checkpoint", "device", "runs"},
    "report": SHARED
    | {"datasets", "eval", "rendering", "checkpoint", "device", "pictures", "training", "judging", "weights"}
    | {"command_lines", "differing", "palette", "plots", "report"},
    "demo": SHARED | {*SHELVES, "rendering", "checkpoint", "device", "training", "judging"},
    "doctor": SHARED | {"device", "eval", "self_test"},
    "self_test": SHARED | {"datasets", "models", "checkpoint", "training", "judging"},
    "commands": SHARED
    | {"flags", *SHELVES, "rollout", "rendering", "checkpoint", "device", "training", "judging", "demo"}
    | {"pictures", "preview", "cards", "bench", "commands", "experiments", "export", "plots", "runs"}
    | {"command_lines", "differing", "processes", "spelling", "surprise", "report", "doctor"}
    | {"cli"},  # a figure of a paper is made by commands
    "cli": SHARED | {"flags", "datasets", "commands", "synonyms", "user_errors"},
    "__main__": {"cli"},
}
"""Room (a shelf or a plain module; "" is the package itself) -> rooms that it may import."""

DOORS: dict[str, set[str]] = {
    "h5py": {"datasets.h5_arrays", "datasets.stored_arrays", "datasets.writer"},
    "zlib_ng": {"datasets.piece"},
    "PIL": {
        "datasets.converting",
        "datasets.picture_films",
        "datasets.digits",
        "datasets.intphys",
        "datasets.intphys_export",
        "pictures",
    },
    "av": {"datasets.video_films"},
    "imageio": {"pictures"},
    "matplotlib": {
        "plots.comparison",
        "plots.curves",
        "plots.points",
        "plots.surprise_curves",
        "rendering.canvas",
        "rendering.fonts",
        "rendering.lettering",
        "rendering.communication_figure",
        "rendering.mask_out_figure",
        "rendering.page",
        "rendering.paper_figures",
        "rendering.top_down_figure",
    },
    "jinja2": {"report.page"},
    "kornia": {"eval.bordered_similarity"},
    "scipy": {"eval.intervals", "eval.matching", "eval.tracking"},
    "lightning": {
        "training.batches",
        "training.engine",
        "training.keeping",
        "training.learner",
        "training.metrics_file",
        "training.processes",
        "training.loggers",
        "training.progress_bar",
        "training.watched_clips",
        "training.watching",
        "training.profiling",
        "training.telling",
    },
    "tensorboard": {"training.watched_clips"},
    "safetensors": {"weights"},
    "tqdm": {
        "datasets.converting",
        "datasets.generation",
        "datasets.verification",
        "datasets.importing",
        "datasets.intphys_export",
        "judging.batches",
        "surprise",
        "training.progress_bar",
        "training.telling",
    },
    "tyro": {
        "cli",
        "commands.benchmarks",
        "commands.comparison",
        "commands.data",
        "commands.doctor",
        "commands.models",
        "commands.options",
        "commands.pictures",
        "commands.plausibility",
        "commands.probes",
        "commands.reproducing",
        "commands.runs",
        "commands.scores",
        "commands.start",
        "commands.training",
        "flags",
        "settings",
        "models.codec_settings",
        "models.intervention_settings",
        "models.own_settings",
        "models.modular_settings",
        "models.rival_settings",
        "models.scoff_settings",
        "datasets.settings",
        "datasets.one_ball_settings",
    },
    "lpips": {"eval.perceptual"},
    "packaging": {"doctor"},
    "skimage": {"bench.plain_scores"},
    "torchmetrics": {"bench.plain_scores"},
    "torchvision": set(),
    **{library: {"systems"} for library in ("_winapi", "fcntl", "msvcrt", "resource")},
    **{library: set() for library in ("grp", "posix", "pty", "pwd", "readline", "syslog", "termios", "tty")},
}
"""Outside library, or module that not every system has -> the modules that may import it."""

EVERYWHERE = {"numpy", "torch", "pydantic"}
"""Outside libraries that need no door."""

LIGHT_LIBRARIES = {"pydantic", "tyro", *sys.stdlib_module_names}
LIGHT = {
    "addresses",
    "amounts",
    "",
    "check",
    "check_path",
    "differing",
    "explaining",
    "files",
    "interrupt",
    "own_code",
    "printable",
    "processes",
    "run_files",
    "run_record",
    "settings",
    "slurm",
    "software",
    "spelling",
    "synonyms",
    "systems",
    "typed_commands",
    "user_errors",
    "datasets",
    "eval",
    "models",
    "datasets.advice",
    "datasets.settings",
    "datasets.import_settings",
    "datasets.one_ball_settings",
    "datasets.world_settings",
    "eval.file_names",
    "eval.plausibility_settings",
    "eval.protocols",
    "eval.settings",
    "eval.object_settings",
    "rendering",
    "rendering.planning",
    "rendering.settings",
    "models.settings",
    "models.codec_settings",
    "models.intervention_settings",
    "models.core_settings",
    "models.own",
    "models.own_settings",
    "models.modular_settings",
    "models.rival_settings",
    "models.scoff_settings",
    "models.presets",
    "command_lines",
    "experiments",
    "experiments.asking",
    "experiments.figures",
    "experiments.planning",
    "experiments.rivals",
    "experiments.scales",
    "experiments.settings",
    "training",
    "training.aside",
    "training.locking",
    "training.metrics_rows",
    "training.places",
    "training.stopping",
}
"""What help and usage errors load besides all of commands and flags: no torch and no NumPy in these."""


def is_light(module: str) -> bool:
    """Whether a module may load light ones only."""
    return module in LIGHT or module.partition(".")[0] in ("commands", "flags", "cli")


def imports(module: str, source: str, *, top: bool = False) -> Iterator[str]:
    """Full names of the modules that a source imports, not for types alone; with `top`, only when it is loaded."""

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            return
        if top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} must import by full names, got a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name.removeprefix("videopred.") in MODULES else str(node.module)
        elif isinstance(node, ast.Constant) and re.fullmatch(r"videopred\.[a-z_.]+:\w+", str(node.value)) and not top:
            yield str(node.value).partition(":")[0]  # a line of a table: imported on use
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    yield from visit(ast.parse(source))


def faults(module: str, source: str) -> list[str]:
    """What is wrong with the imports of a module, e.g. `datasets.clip_file`, whose source this is."""
    room, found = module.partition(".")[0], []
    for name in imports(module, source):
        first, _, inner = name.partition(".")
        if first == "videopred":
            if inner.partition(".")[0] not in ROOMS[room]:
                found.append(f"{module} imports {name}")
        elif first in DOORS:
            if module not in DOORS[first]:
                found.append(
                    f"{module} imports {first}, whose door is {', '.join(sorted(DOORS[first])) or 'not made yet'}"
                )
        elif first not in sys.stdlib_module_names | EVERYWHERE:
            found.append(f"{module} imports {first}, which has no line in DOORS")
    for name in imports(module, source, top=True):
        first, _, inner = name.partition(".")
        heavy = not is_light(inner) if first == "videopred" else first not in LIGHT_LIBRARIES
        if is_light(module) and heavy:
            found.append(f"{module} loads {name}, which is not light")
    return found


def _modules() -> dict[str, str]:
    """Name without the package -> source, of every module."""
    paths = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py")}
    names = {path: ".".join(parts[:-1] if parts[-1] == "__init__" else parts) for path, parts in paths.items()}
    return {name: path.read_text() for path, name in names.items()}


MODULES = _modules()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_room_may(module):
    assert faults(module, MODULES[module]) == []


def test_every_room_and_door_is_there():
    """A line for what is gone would allow what nobody decided on."""
    assert set(ROOMS) == {name.partition(".")[0] for name in MODULES}
    pairs = {(module, name) for module, source in MODULES.items() for name in imports(module, source)}
    used = {(module.split(".")[0], name.split(".")[1]) for module, name in pairs if name.startswith("videopred.")}
    assert {(room, other) for room, others in ROOMS.items() for other in others - SHARED} - used == set()
    doors = {(module, library) for library, modules in DOORS.items() for module in modules}
    assert doors - {(module, name.split(".")[0]) for module, name in pairs} == set()


def test_the_map_of_data_modules_names_them_all():
    """In the docstring of the package, where whoever looks for one of sixty begins."""
    named = set(re.findall(r"\w+", MODULES["datasets"].partition("by what they are about:")[2].partition('"""')[0]))
    assert {name.partition(".")[2] for name in MODULES if name.startswith("datasets.")} - named == set()


def test_every_outside_library_is_a_declared_dependency():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["video"]
    declared = {line.partition(">=")[0].lower() for line in project["dependencies"] + extra}
    named_otherwise = {"PIL": "pillow", "zlib_ng": "zlib-ng", "skimage": "scikit-image"}
    for module, source in MODULES.items():
        outside = {name.partition(".")[0] for name in imports(module, source)} - {"videopred", *sys.stdlib_module_names}
        missing = {named_otherwise.get(name, name) for name in outside} - declared
        assert missing == set(), module


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("datasets.clip_file", "from videopred.models import build", "datasets.clip_file imports videopred.models"),
        ("datasets.clip_file", "from videopred import models", "datasets.clip_file imports videopred.models"),
        ("eval.pixel", "import videopred.rollout as r", "eval.pixel imports videopred.rollout"),
        (
            "models.core",
            "def f():\n    from videopred.datasets.clip_file import X",
            "core imports videopred.datasets",
        ),
        (
            "models.core",
            "CORES = {'bce': (None, 'videopred.eval.pixel:BCE')}",
            "core imports videopred.eval",
        ),
        ("pictures", "from videopred import rendering", "pictures imports videopred.rendering"),
        ("rendering", "from videopred.eval.scores import Scores", "rendering imports videopred.eval.scores"),
        ("rollout", "from videopred.checkpoint import load_run", "rollout imports videopred.checkpoint"),
        ("checkpoint", "from videopred.training.run import train", "checkpoint imports videopred.training"),
        ("training", "from videopred.judging import judge", "training imports videopred.judging"),
        ("judging", "from videopred.cli import main", "judging imports videopred.cli"),
        ("judging", "from videopred.demo import run_demo", "judging imports videopred.demo"),
        (
            "training",
            "import h5py",
            "training imports h5py, whose door is datasets.h5_arrays, datasets.stored_arrays, datasets.writer",
        ),
        ("datasets.digits", "import torchvision.datasets", "imports torchvision, whose door is not made yet"),
        ("eval.pixel", "try:\n    import lpips\nexcept ImportError:\n    pass", "eval.pixel imports lpips"),
        (
            "eval.pixel",
            "from kornia.metrics import ssim",
            "eval.pixel imports kornia, whose door is eval.bordered_similarity",
        ),
        ("eval.pixel", "import pandas", "eval.pixel imports pandas, which has no line in DOORS"),
        ("cli", "import torch", "cli loads torch, which is not light"),
        (
            "commands.data",
            "from videopred.datasets.clip_file import ClipFile",
            "data loads videopred.datasets.clip_file",
        ),
        ("cli", "class A:\n    import numpy", "cli loads numpy, which is not light"),
        ("models.settings", "import torch", "models.settings loads torch, which is not light"),
        ("eval", "from videopred.eval.metric import Metric", "eval loads videopred.eval.metric, which is not light"),
    ],
)
def test_a_bad_import_is_found(module, source, fault):
    assert fault in "; ".join(faults(module, source))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("commands.start", "def f():\n    import torch\n    from videopred.demo import run_demo"),
        ("cli", "if TYPE_CHECKING:\n    from torch import Tensor"),
        ("judging", "from videopred import rendering"),
        ("eval.metric", "if TYPE_CHECKING:\n    from videopred.models.core import Core"),
        ("models", "def f():\n    from videopred.models.predictor import Predictor"),
    ],
)
def test_a_good_import_is_let_pass(module, source):
    assert faults(module, source) == []


def test_a_relative_import_is_refused():
    with pytest.raises(AssertionError, match=r"eval\.pixel must import by full names"):
        faults("eval.pixel", "from . import metric")
