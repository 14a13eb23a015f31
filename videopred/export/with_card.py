"""An export with a card and a GIF beside it, for those who use the model and did not train it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from videopred import check, check_path, pictures
from videopred.checkpoint import checkpoint_file, load_run, run_settings
from videopred.datasets import open_dataset
from videopred.datasets.advice import kept_clips
from videopred.datasets.clip_source import ClipSource
from videopred.eval.file_names import SCORES, scores_in, stamps_in
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores
from videopred.export import export_file, gather
from videopred.export.card_text import Described, card_text
from videopred.files import write_all
from videopred.judging.views import views_of
from videopred.rendering.film import film_frames
from videopred.run_files import RECORD, run_name
from videopred.run_record import is_of_run, stamp_of
from videopred.weights import export_bytes

_PANEL_PX = 144


def export_with_card(
    run: Path,
    out: Path | None = None,
    *,
    data: Path | None = None,
    results: Path = Path("eval"),
    half: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write the export of a run, and its card and GIF beside it under the same name; return the three paths.

    Args:
        run: a run folder.
        out: the export; see `export_run`.
        data: clips with a test part, whose first clip is shown; None is what the run learned from.
        results: where `videopred evaluate` wrote: the folder of all results, that of this run, or that of its scores.
            The card tells the scores of this export that are there, or else of this run.
        half: see `export_run`; the scores must then be those of such an export.
        overwrite: replace files that are there already.

    Raises:
        FileNotFoundError, ValueError: no run, no clips, clips that do not fit, scores of other weights of the run, or
            none of the run alone in results that are not in their usual place.
        FileExistsError: a file is there already; then nothing is written.
    """
    out = export_file(run, out, overwrite)
    card, film = (check_path.absent("--out", out.with_suffix(suffix), overwrite) for suffix in (".md", ".gif"))
    export = gather(run, half)
    file = _clips(run, data)
    usual = results == Path("eval")
    places = [scores_in(results / name) for name in (run_name(out), run_name(run))]  # as one or the other was judged
    if not usual:  # it may be the folder of the run's results, or of its scores; without a stamp they may be anybody's
        places.append([path for path in [*scores_in(results), results / SCORES] if stamps_in(path)])
    scores = next(filter(None, (_scores_among(files, run, export.record) for files in places)), [])
    must, fix = "hold scores of the run alone", "leave it out, or name the folder that `videopred evaluate` printed"
    check.require(bool(scores) or usual, "--scores", must, results, fix)
    described = Described(out.stem, export, load_run(run, "cpu"), file, file.fingerprint(), scores)
    text, frames = card_text(described), _film(described)  # all that can fail, before anything is written
    return write_all({out: export_bytes(export), card: text, film: pictures.gif_bytes(frames)}, overwrite=overwrite)


def _clips(run: Path, data: Path | None) -> ClipSource:
    """The clips to show from.

    Raises:
        ValueError: they are not where they were, have no test part, or were not made by us.
    """
    if data is None:
        known = run_settings(run).data
        data = None if known is None else kept_clips(known.path)
        got = "a run without a record of its clips" if known is None else f"{known.path} (no clips there)"
        check.require(data is not None, "RUN", "have its clips where they were", got, "name clips with --data FILE")
        assert data is not None
    file = open_dataset(data)
    fix = "name others with --data FILE"
    check.require(file.parts.get("test", 0) > 0, "--data", "hold a test part", f"{data} without one", fix)
    must, fix = "be made by `videopred generate`, so that a card can say how to make them", "leave --card out"
    check.require(file.recipe is not None, "--data", must, data, fix)
    return file


def _scores_among(files: Sequence[Path], run: Path, record: Mapping[str, Any]) -> list[Scores]:
    """What `videopred evaluate` said of the run alone, one for each data set; comparisons are passed over.

    Args:
        files: scores of the run, and perhaps of others.
        run: the run folder.
        record: that of the export.
    """
    found, stamp, finished = [], stamp_of(record), record.get("finished")
    try:
        ended = datetime.fromisoformat(finished).timestamp() if finished else checkpoint_file(run).stat().st_mtime
    except ValueError:
        fix = "put back what `train` wrote there"
        raise check.FaultyFileError(check.complaint(str(run / RECORD), "say when it finished", finished, fix)) from None
    for path in files:
        scores = load_scores(path)
        (told,) = scores.stamps.values() if len(scores.stamps) == 1 else ("",)
        if len(scores.models) > 1 or (told and stamp and not is_of_run(told, record)):
            continue
        # Of those that were saved from Python, and of a run that has not ended, times are all that tells.
        by_time = not told or (told == stamp and "updates" not in record)
        old = path.stat().st_mtime < ended if by_time else told != stamp
        must, fix = "be of the weights to export", "score these with `evaluate --overwrite`, or move it away"
        if "16 bits" in record.get("weights", ""):
            fix = "export without --card first and score that file, or move it away"
        got = f"{path}, of {told}; these are {stamp}" if told not in ("", stamp) else f"{path}, older than these"
        check.require(not old, "--scores", must, got, fix)
        found.append(scores)
    return found


def _film(described: Described) -> np.ndarray:
    """Frames of the first test clip, truth beside prediction."""
    (view,) = views_of(described.predictor, described.file, "test", [0], *described.given)
    return film_frames(view, ("truth", "pred"), panel_px=_PANEL_PX)
