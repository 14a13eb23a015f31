"""The clips that a run learns from and those that it is judged by while it learns."""

import gc
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from videopred import check, check_path
from videopred.datasets import DATASETS, open_dataset, read_recipe
from videopred.datasets.advice import how_to_make
from videopred.datasets.clip_source import ClipSource
from videopred.datasets.loader import MEMORY_LIMIT, FilmDataset
from videopred.datasets.recipe_clips import RecipeClips, open_recipe
from videopred.datasets.settings import DatasetSettings
from videopred.device import my_device
from videopred.interrupt import HeldInterrupt
from videopred.settings import ComputeConfig, TrainingConfig
from videopred.spelling import nearest_path

_EVERYTHING = 2**63  # bytes
_AT_ONCE = 256  # clips that are read in one go on their way to the device


class TrainingClips:
    """Clips to learn from and clips to choose the best checkpoint by, both outside the test part.

    Where the file has no validation part, the last clips of the training part are kept aside.

    Attributes:
        learn: all windows of the clips to learn from, clip by clip; not there when they are endless.
        validate: windows of the others, side by side from each clip's first frame; a rest that is shorter is left out.
        frames: frames of a window; where none are asked for, a whole clip is the one window.
        windows: windows of a clip, one from each frame with which a window can begin.
        endless: whether each batch is made anew, from a recipe; not so where `as_a_file` is asked for.
        to_learn: number of clips to learn from.
        held_on_device: whether the clips to learn from wait on the device.

    Raises:
        ValueError: the file has no training part, or too few clips for a batch, or clips that are too short or shorter
            than the window; or a setting that goes with other data.
    """

    def __init__(
        self,
        file: ClipSource,
        training: TrainingConfig,
        compute: ComputeConfig | None = None,
        device: str = "cpu",
        *,
        as_a_file: bool = False,
    ) -> None:
        compute = compute or ComputeConfig()
        self.file, self._are_made = file, isinstance(file, RecipeClips)
        self.endless = self._are_made and not as_a_file
        count = file.parts.get("train", 0)
        _check_length(file, training)
        self.frames = file.frames if training.window is None else training.window
        self.windows = file.frames - self.frames + 1
        must, fix = "be auto, memory or disk where DATA is a preset or a recipe", "leave it out"
        check.require(not self.endless or compute.hold != "device", "--hold", must, "device", fix)
        must, asked = "come with a preset or a recipe as DATA", training.validation_clips
        allowed, got = self.endless or asked is None, f"{asked} with {file.path}"
        check.require(allowed, "--validation-clips", must, got, "leave it out")
        fix = "generate some with `--clips train=1000`, or import them with `--part train`"
        unread = file.remarks.get("unread")
        got = f"{file.path} without one" + (f", but with {unread}" if unread else "")
        check.require(count > 0, "DATA", "hold a training part", got, fix)
        aside = _kept_aside(file, training)
        self.to_learn = count - aside
        must = f"be at most {self.to_learn}, the clips left to learn from"
        windows = "learn from windows of them with --window" if training.window is None else "give a shorter --window"
        fix = f"lower it, generate more clips, or {windows}"
        enough = training.batch_size <= self.to_learn or self.windows > 1
        check.require(enough, "--batch-size", must, training.batch_size, fix)
        with HeldInterrupt() as held:  # what is raised while objects end is lost
            gc.collect()  # Lightning's objects hold one another, and with them the clips of a training before this one
        held.stop_if_asked()
        torch.cuda.empty_cache()
        limit = {"auto": MEMORY_LIMIT, "disk": 0}.get(compute.hold, _EVERYTHING)
        self.held_on_device = not self.endless and self._belongs_on(device, compute)
        if not self.endless:
            most = 0 if self.held_on_device else limit
            self.learn = FilmDataset(file, "train", stop=self.to_learn, memory_limit=most, window=self.frames)
        part, first = ("train", self.to_learn) if aside else ("validation", 0)
        self.validate = FilmDataset(file, part, first, memory_limit=limit, window=self.frames, stride=self.frames)

    def frames_on(self, device: torch.device) -> Tensor:
        """All clips to learn from, (N, T, H, W, C) uint8, on the device."""
        file = self.file
        shape = (self.to_learn, file.frames, file.height, file.width, file.channels)
        clips = torch.empty(shape, dtype=torch.uint8, device=device)
        at_once = file.at_once(_AT_ONCE)
        for start in range(0, self.to_learn, at_once):
            stop = min(start + at_once, self.to_learn)
            clips[start:stop] = torch.from_numpy(file.read_frames("train", start, stop))
        return clips

    @property
    def bytes_to_learn(self) -> int:
        """What the clips to learn from take in memory."""
        return self.to_learn * self.file.bytes_per_clip

    @property
    def bytes_to_validate(self) -> int:
        """What the clips for validation take in memory."""
        return (self.validate.stop - self.validate.start) * self.file.bytes_per_clip

    @property
    def are_read_each_time(self) -> bool:
        """Whether an update waits for its clips to be made, or read from a file as they are held nowhere."""
        return self.endless or not (self._are_made or self.held_on_device or self.learn.held)

    def read_windows(self, first: int, starts: np.ndarray) -> np.ndarray:
        """Windows of the clips to learn from `first` on, one of each; (B, T, H, W, C) uint8.

        Args:
            first: the first clip.
            starts: (B,) frames at which the windows begin.
        """
        if self._are_made:  # many at once, which takes a quarter of the time
            clips = self.file.read_frames("train", first, first + len(starts))
            return np.stack([clip[start : start + self.frames] for clip, start in zip(clips, starts, strict=True)])
        read = self.file.read_window
        return np.stack([read("train", clip, start, start + self.frames) for clip, start in enumerate(starts, first)])

    def beginnings(self, clips: int, frames: int) -> np.ndarray:
        """The first frames of the first validation clips, (B, T, H, W, C) uint8; fewer where there are fewer."""
        others = self.validate
        chosen = range(others.start, min(others.start + clips, others.stop))
        return np.stack([self.file.read_window(others.part, clip, 0, frames) for clip in chosen])

    def _belongs_on(self, device: str, compute: ComputeConfig) -> bool:
        """Whether the clips wait on the device: with `auto`, on a GPU that has four times their size free."""
        if compute.hold != "auto" or not device.startswith("cuda"):
            return compute.hold == "device"
        return self.bytes_to_learn < torch.cuda.mem_get_info(torch.device(my_device(device)))[0] / 4


def open_clips(data: Path | str, training: TrainingConfig, *, preset: bool = False) -> ClipSource:
    """The clips that DATA means: a data file, a folder of shards, or an endless set from a preset or recipe file.

    Clips of a recipe are drawn from the run's own seed, and none is seen twice. A name is that of a preset where there
    is no file or folder of that name, or if it is known to be one.

    Raises:
        FileNotFoundError, ValueError: see `open_dataset` and `open_recipe`.
    """
    path = check_path.as_path("DATA", data)
    recipe: str | DatasetSettings | None = None
    if path.suffix == ".json":
        recipe = read_recipe("DATA", "be a recipe or an experiment if it is JSON", path)
    elif str(data) in DATASETS and (preset or not path.exists()):
        recipe = str(data)
    if recipe is None:
        if not path.suffix and not path.exists():
            near = nearest_path(path, DATASETS)
            raise check_path.not_found_error("DATA", "be a data file or a preset", path, how_to_make(path), near)
        return open_dataset(path)
    counts = {"train": training.updates * training.batch_size, "validation": training.validation_clips_made}
    with check.named({"recipe": "DATA"}):
        return open_recipe(recipe, counts, seed=training.seed)


def _check_length(file: ClipSource, training: TrainingConfig) -> None:
    """Refuse clips that are too short to predict anything in."""
    fix = "there is nothing to predict"
    check.require(file.frames > 1, "DATA", "hold clips of two frames or more", file.frames, fix)
    if training.window is not None:
        must, fix = f"be at most {file.frames}, the frames of a clip", "leave it out to learn from whole clips"
        check.require(training.window <= file.frames, "--window", must, training.window, fix)
    most = file.frames - 2
    must = f"be at most {most}, so that of {file.frames} frames one is given and one is predicted from it"
    check.require(training.free_running <= most, "--free-running", must, training.free_running, "lower it")


def _kept_aside(file: ClipSource, training: TrainingConfig) -> int:
    """How many clips of the training part, the last ones, are not learned from but looked at; at least one is left."""
    share, count = training.validation_share, file.count("train")
    if file.parts.get("validation"):
        must, fix = "be left out where DATA has a validation part", "leave it out"
        check.require(share is None, "--validation-share", must, share, fix)
        return 0
    aside = max(1, round(count * training.share_held_out))
    must, fix = f"leave some of the {count} training clips to learn from", "lower it"
    check.require(share is None or aside < count or count == 1, "--validation-share", must, share, fix)
    must = "hold more training clips than are kept aside for validation"
    fix = "add some, or a validation part, or cut long films into clips with `videopred import --frames`"
    check.require(aside < count, "DATA", must, f"{count} and {aside}", fix)
    return aside
