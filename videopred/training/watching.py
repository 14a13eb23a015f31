"""The callbacks that show a training while it runs: pictures of clips, a progress bar, a profile."""

from pathlib import Path

from lightning.pytorch.callbacks import Callback

from videopred import check
from videopred.run_files import PROFILE
from videopred.settings import ComputeConfig, TrainingConfig, WatchConfig
from videopred.training.clips import TrainingClips
from videopred.training.loggers import check_loggers
from videopred.training.profiling import Profile
from videopred.training.progress_bar import ProgressBar
from videopred.training.watched_clips import WatchClips

_WATCHED = 16
"""Clips that are watched."""


def check_watch(watch: WatchConfig, compute: ComputeConfig) -> None:
    """Refuse loggers whose libraries are not installed, and profiles where a model is compiled or recorded as a whole.

    Raises:
        ValueError: names the flag.
    """
    if watch.profile:
        got, fix = f"both, --compile {compute.compile}", "leave one of them out, or give"
        check.require(compute.compile == "none", "--profile", "come without --compile", got, f"{fix} --compile none")
        must = "come without --cuda-graphs"
        check.require(not compute.cuda_graphs, "--profile", must, "both", f"{fix} --no-cuda-graphs")
    check_loggers(watch.logger)


def watchers(
    watch: WatchConfig, run: Path, clips: TrainingClips, training: TrainingConfig, progress: bool
) -> list[Callback]:
    """The callbacks that the settings ask for.

    Args:
        watch: what to show.
        run: the run folder.
        clips: the first validation clips are watched.
        training: says how many clips an update learns from.
        progress: show a bar on stderr, if that is a terminal.
    """
    context = clips.file.context
    watched = clips.beginnings(_WATCHED, context + clips.file.horizon)
    found: list[Callback] = [WatchClips(watched, context, watch.pictures_every)]
    frames = training.batch_size * clips.frames
    if progress:
        found.append(ProgressBar(training.updates, frames // training.accumulate))
    if watch.profile:
        found.append(Profile(run / PROFILE, frames, training.accumulate))
    return found
