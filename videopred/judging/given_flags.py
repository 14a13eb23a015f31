"""The films that flags such as --pred and --true name."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from videopred import check
from videopred.datasets.clip_source import ClipSource
from videopred.eval.data_names import file_names
from videopred.eval.settings import FilmsConfig, GivenConfig
from videopred.judging.baselines import BASELINES
from videopred.judging.given_files import is_data
from videopred.judging.given_films import GivenFilms, GivenTruth
from videopred.judging.given_masks import GivenMasks


def open_given(
    given: FilmsConfig, part: str, data: ClipSource | None = None
) -> tuple[dict[str, GivenFilms], ClipSource]:
    """The films that a user named: predicted ones, by the names of their rows, and true ones, which may be DATA.

    What is said of arrays holds for all of them but those of `videopred rollout`. Pictures that are kept in color have
    one channel where the truth has one, or where they and true pictures are grey throughout.

    Args:
        given: what the user said of them.
        part: part of data files to take.
        data: DATA, if it is the truth.

    Raises:
        FileNotFoundError, ValueError: see `GivenFilms`.
    """
    predicted = {
        name: GivenFilms("--pred", path, value_range=given.range, axes=given.axes, array=given.pred_array, part=part)
        for name, path in _rows(given.pred).items()
    }
    is_array = any(films.is_told for films in predicted.values())
    if given.true is None:
        _check_idle(given, is_array, False)
        assert data is not None  # one of both was asked for
        for films in predicted.values():
            if data.channels == 1 and films.may_be_grey:
                films.take_as_grey()
        return predicted, data
    axes = given.true_axes or (given.axes and given.axes.replace("N", ""))
    value_range = given.true_range or given.range
    own = {"--range": given.true_range, "--axes": given.true_axes}
    with check.named({flag: flag.replace("--", "--true-") for flag, word in own.items() if word is not None}):
        true = GivenFilms("--true", given.true, value_range=value_range, axes=axes, array=given.true_array, part=part)
    _check_idle(given, is_array, true.is_told)
    check.require(true.samples == 1, "--true-axes", "name no axis N", given.true_axes, "there is one truth of a clip")
    every = (true, *predicted.values())
    one_channel = true.film_shape[0] == 1 or all(films.is_grey() for films in every)
    if one_channel and all(films.may_be_grey for films in every):
        for films in every:
            films.take_as_grey()
    return predicted, GivenTruth(true, part if is_data(given.true) else "test")


def open_masks(given: GivenConfig, predicted: Mapping[str, GivenFilms]) -> dict[str, GivenMasks]:
    """The own masks that a user named beside predicted films, by the names of their rows; none if there are none."""
    pairs = zip(predicted.items(), given.pred_masks, strict=False)  # there are none, or one for each
    return {name: GivenMasks(path, films, given.masks_array) for (name, films), path in pairs}


def _rows(paths: Sequence[Path]) -> dict[str, Path]:
    """Name of its row -> path of films; several are called after their files."""
    check.each_once("--pred", [path.resolve() for path in paths], "be given once each")
    names = ["prediction"] if len(paths) == 1 else file_names([path.absolute() for path in paths])
    taken = [name for name in names if name in BASELINES]
    must = "have other names than the trivial baselines"
    check.require(not taken, "--pred", must, ", ".join(taken), "rename the file, or score it alone")
    return dict(zip(names, paths, strict=True))


def _check_idle(given: FilmsConfig, pred_is_array: bool, true_is_array: bool) -> None:
    """Refuse words about arrays where there is none."""
    for flag, word, means in (
        ("--range", given.range, pred_is_array or true_is_array),
        ("--axes", given.axes, pred_is_array or true_is_array),
        ("--true-range", given.true_range, true_is_array),
        ("--true-axes", given.true_axes, true_is_array),
    ):
        got = check.as_typed(word) if isinstance(word, tuple) else word
        fix = "pictures and data files say it themselves, and so does what `videopred rollout` wrote"
        check.require(word is None or means, flag, "be left out where no array is given", got, fix)
    fits = pred_is_array or given.axes is None or "N" not in given.axes
    check.require(fits, "--axes", "name an axis N only if --pred is an array", given.axes, "leave N out")
