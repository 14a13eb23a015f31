"""The demo: from nothing to a prediction GIF, and an honest verdict on what was learned.

Small enough for two CPU cores, and real: the same generator, model, training and scores as for any other data. Two
balls, quick and large for their frame, because a short training can then tell motion from standing still.
"""

import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check_path
from videopred.checkpoint import load_run
from videopred.datasets import open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig
from videopred.device import one_thread, pick_device
from videopred.eval.file_names import SCORE_FILES
from videopred.eval.scores import Scores
from videopred.eval.tables import COPY_LAST
from videopred.files import write_all
from videopred.interrupt import stop_if_lost
from videopred.judging import BASELINES, evaluate
from videopred.judging.views import views_of
from videopred.models.codec_settings import RNEMConfig
from videopred.models.settings import PredictorConfig, RIMsConfig
from videopred.rendering.encoding import draw_view
from videopred.settings import TrainingConfig
from videopred.training.folder import RunFolder
from videopred.training.places import check_free
from videopred.training.run import train

RECIPE = BallsConfig(frames=16, height=24, width=24, balls=(2,), radii=(1.5,), masses=(1.0,), speed=0.7)
CLIPS = {"train": 4000, "validation": 128, "test": 256}
CORE = RIMsConfig(units=32, cell="gru", input_key=32, comm_heads=2, comm_key=16, comm_value=16)
MODEL = PredictorConfig(core=CORE, codec=RNEMConfig(channels=(8, 16, 32), embedding=256))
TRAINING = TrainingConfig(
    updates=800,
    batch_size=32,
    learning_rate=3e-3,
    schedule="cosine",
    clip_norm=0.05,
    free_running=6,
    grow_over=400,
    validate_every=200,
)
CONTEXT, HORIZON = 6, 10
RESULTS = Path("scores")
"""Where scores are, as `videopred report --scores` finds them."""
_SCORES = RESULTS / "run" / "balls"
PICTURES = [[f"clip-{clip}.gif", f"clip-{clip}.png"] for clip in range(3)]
"""Of each test clip that is drawn, its film and its strip."""

TINY_CLIPS = {"train": 40, "validation": 8, "test": 8}
TINY_TRAINING = TrainingConfig(updates=4, batch_size=8, free_running=3, validate_every=2)


@dataclass(frozen=True)
class Outcome:
    """What the demo made and found."""

    scores: Scores
    """Scores of the model and of the trivial baselines, on clips that the model never saw."""
    verdict: str
    """Whether the model beat them, in words."""
    files: list[Path]
    """Everything it wrote that is worth opening."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows."""
        return self.scores.to_dict() | {"verdict": self.verdict, "files": [str(path) for path in self.files]}


def run_demo(
    out: Path, *, tiny: bool = False, device: str = "auto", overwrite: bool = False, progress: bool = False
) -> Outcome:
    """Generate, train, roll out, score and render, all under one folder.

    Args:
        out: the folder.
        tiny: a few updates on a few clips, which shows that all works and learns nothing.
        device: see `pick_device`.
        overwrite: replace an earlier demo there.
        progress: say on stderr how the training goes; where that is a terminal, also show bars.

    Raises:
        FileExistsError: there is a demo already.
    """
    pick_device(device)  # an unknown one is said before anything is made
    scores = (str(_SCORES / name) for name in SCORE_FILES)
    for name in ("balls.h5", "run", *scores, *chain.from_iterable(PICTURES)):
        check_path.absent("--out", out / name, overwrite, folder=name == "run")
    check_free(out / "run", overwrite)  # before clips of an earlier one are replaced
    RunFolder(out / "run").check_replaceable()
    # At this size a second thread costs more than it brings; and one gives the same numbers on any number of cores.
    with one_thread():
        return _run(out, tiny, device, progress)


def _run(out: Path, tiny: bool, device: str, progress: bool) -> Outcome:
    clips, training = (TINY_CLIPS, TINY_TRAINING) if tiny else (CLIPS, TRAINING)
    bars = progress and sys.stderr.isatty()  # a file would keep every state of a bar
    data = generate("balls", clips, recipe=RECIPE, out=out / "balls.h5", overwrite=True, progress=bars)
    run = train(data, MODEL, training, out=out / "run", device=device, overwrite=True, progress=progress)
    stop_if_lost()  # of the training, which was over
    predictor, file = load_run(run, device), open_dataset(data)
    scores = evaluate(predictor, file, context=CONTEXT, horizon=HORIZON, progress=bars)
    views = views_of(predictor, file, "test", range(len(PICTURES)), CONTEXT, HORIZON)
    pictures: dict[Path, bytes] = {}
    for view, names in zip(views, PICTURES, strict=True):
        pictures |= draw_view(view, [out / name for name in names])
    drawn = write_all(pictures, overwrite=True)
    return Outcome(scores, verdict(scores), [data, run, *scores.save(out / _SCORES, overwrite=True), *drawn])


def verdict(scores: Scores) -> str:
    """Whether the model's BCE is below every trivial baseline's at steps 1 to 5, its F1 above copy-last's at 2 to 8."""
    model, copied = scores.values["model"], scores.values[COPY_LAST]
    trivial = [name for name, row in BASELINES.items() if not row.needs_physics]
    best_bce = np.min([scores.values[name]["bce"] for name in trivial], axis=0)
    claims = {
        "BCE below that of every trivial baseline at rollout steps 1 to 5": (model["bce"] < best_bce)[:5],
        "F1 above copy last's at rollout steps 2 to 8": (model["f1"] > copied["f1"])[1:8],
    }
    lines = [
        f"  {claim}: {'yes' if held.all() else 'no'} ({held.sum()} of {len(held)} steps)"
        for claim, held in claims.items()
    ]
    return "\n".join(["Did the model learn? On clips it never saw:", *lines])
