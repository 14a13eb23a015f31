"""What there is of a run on the disk: settings, record, curves, scores and drawings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from videopred import check, check_path
from videopred.command_lines import from_here
from videopred.datasets.advice import kept_clips
from videopred.eval.file_names import PLAUSIBILITY_FILES, may_be_of, scores_in
from videopred.eval.saved_scores import load_scores
from videopred.eval.scores import Scores
from videopred.files import read_json
from videopred.run_files import SETTINGS, run_name
from videopred.run_record import read_record, stamp_of
from videopred.training.metrics_rows import read_metrics
from videopred.weights import read_header


class _Model(BaseModel):
    core: dict[str, Any]


class _Data(BaseModel):
    path: str | None = None


class _Learned(BaseModel):
    """What a page takes from the settings of a run, of any version; there is more in them."""

    model: _Model
    film_shape: Annotated[list[int], Field(min_length=3, max_length=3)] | None = None
    data: _Data | None = None
    training: dict[str, Any] = {}
    compute: dict[str, Any] = {}


class _Estimate(BaseModel):
    value: float
    low: float | None
    high: float | None


class _Errors(BaseModel):
    where: dict[str, str]
    scenes: int
    relative: _Estimate
    absolute: _Estimate


class _Asked(BaseModel):
    data: str


class _Judged(BaseModel):
    """What a page takes from plausibility.json; there is more in it."""

    settings: _Asked
    errors: dict[str, list[_Errors]]
    notes: list[str] = []


class FoundRun(NamedTuple):
    """A run as its files show it."""

    path: Path
    name: str
    """What its results are filed under."""
    settings: Mapping[str, Any]
    """Its RunConfig or, of a model that was saved, TrainedConfig, as JSON has it."""
    record: Mapping[str, Any]
    """Its run.json."""
    log: Sequence[Mapping[str, str]]
    """Rows of its metrics file; none of an export."""
    scores: Mapping[str, Scores]
    """Name of data -> what `videopred evaluate` wrote."""
    plausibility: Mapping[str, Mapping[str, Any]]
    """Name of data -> what `videopred plausibility` wrote."""
    surprise: Mapping[str, Sequence[tuple[Path, Path]]]
    """Name of data -> film and still of the first scene that `videopred plausibility` drew; none if it drew none."""

    @property
    def stamp(self) -> str | None:
        """What tells it from others of its name, see `videopred.run_record`."""
        return stamp_of(self.record)

    @property
    def core(self) -> str:
        """Name of its core."""
        core = self.settings["model"]["core"]
        return str(core.get("source") or core.get("kind", "own"))

    @property
    def data(self) -> Path | None:
        """The file of clips that it learned from, if there is one where it was."""
        path = (self.settings.get("data") or {}).get("path")
        clips = kept_clips(path) if path else None
        return from_here(clips) if clips else None


def find_run(path: Path, results: Path) -> FoundRun:
    """What the files of a run say, and what was written about it.

    Args:
        path: run folder, or export.
        results: where `videopred evaluate` and `videopred plausibility` wrote: <results>/<run>/<data>.

    Raises:
        FileNotFoundError: no run is there. FaultyFileError: a file of it is damaged.
    """
    check_path.run_folder(path)
    if path.is_file():
        settings, record = read_header(path)
        log: list[dict[str, str]] = []
    else:
        settings, record = read_json(path / SETTINGS), read_record(path)
        log = read_metrics(path / "logs" / "metrics.csv")
    try:
        _Learned.model_validate(settings, strict=True)
    except ValidationError as error:
        got = f"{path}, with something else at {'.'.join(map(str, error.errors()[0]['loc']))}"
        raise check.FaultyFileError(check.complaint("RUN", "hold the settings of a run", got, "train again")) from None
    name = run_name(path)
    folder = results / name
    stamps = [stamp] if (stamp := stamp_of(record)) else []
    scores = {file.parent.name: load_scores(file) for file in scores_in(folder, stamps)}
    judged = [file for file in sorted(folder.glob(f"*/{PLAUSIBILITY_FILES[0]}")) if may_be_of(file, stamps)]
    plausibility = {file.parent.name: _judged(file) for file in judged}
    surprise = {name: _drawn_scene(folder / name) for name in plausibility}
    return FoundRun(path, name, settings, record, log, scores, plausibility, surprise)


def _judged(file: Path) -> dict[str, Any]:
    """What `videopred plausibility` wrote into a file.

    Raises:
        FaultyFileError: something else is in it.
    """
    content = read_json(file)
    try:
        _Judged.model_validate(content, strict=True)
    except ValidationError as error:
        must, where = "hold what `videopred plausibility` wrote", ".".join(map(str, error.errors()[0]["loc"]))
        got = f"something else at {where}"
        raise check.FaultyFileError(check.complaint(str(file), must, got, "judge it again")) from None
    return content


def _drawn_scene(folder: Path) -> list[tuple[Path, Path]]:
    """Film and still of the first scene of which there are both; none if there is none."""
    films = sorted(folder.glob("scene-*.gif"), key=lambda film: (len(film.name), film.name))  # scene 2 before scene 10
    pairs = [(film, film.with_suffix(".png")) for film in films]
    return [pair for pair in pairs if _begins(pair[0], b"GIF8") and _begins(pair[1], b"\x89PNG")][:1]


def _begins(file: Path, kind: bytes) -> bool:
    """Whether a file is there that is a picture of a kind, and no link: one of somebody else's may lead to any file of
    one's own, which a page that is shared must not hold."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(kind)) == kind
