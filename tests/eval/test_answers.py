"""Answers to the benchmark lose no order and no tie, and score files are read or refused in one line."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from videopred.check import FaultyFileError
from videopred.eval.answers import _table, check_names, read_scores, write_answers
from videopred.eval.plausibility import from_numbers

POSSIBLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]], bool)


def named(scenes: int) -> list[list[str]]:
    kinds = ("occluded_static_nobj1", "visible_dynamic_2_nobj3")
    return [[f"O{1 + s % 3}/{1 + s // 3:04}_{kinds[s % 2]}/{k}" for k in range(1, 5)] for s in range(scenes)]


def folders(scenes: int) -> list[list[str]]:
    return [[f"O{1 + s % 3}/{1 + s // 3:04}/{k}" for k in range(1, 5)] for s in range(scenes)]


def official(answers: str, possible: dict[str, bool]) -> dict[str, float]:
    """What the benchmark's script makes of answers, retold: its demands, its keys, its strict relative error."""
    scenes: dict[str, dict[int, float]] = {}
    for line in answers.splitlines():
        name, number = line.split()
        scene, _, film = name.rpartition("/")
        assert 0 <= float(number) <= 1
        assert int(film) in (1, 2, 3, 4)
        assert re.search("O1|O2|O3", scene)
        scenes.setdefault(scene, {})[int(film)] = float(number)
    wrong: dict[str, list[bool]] = {}
    for scene, films in scenes.items():
        assert len(films) == 4
        good, bad = (
            sum(value for k, value in films.items() if possible[f"{scene}/{k}"] == kind) for kind in (True, False)
        )
        block, seen = re.search("O1|O2|O3", scene)[0], "occluded" if "occluded" in scene else "visible"
        for key in (f"{block}_{seen}_relative", "all"):
            wrong.setdefault(key, []).append(good < bad)
    return {key: float(np.mean(errors)) for key, errors in wrong.items()}


def sigmoid(films: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-films.astype(np.float32)))


def ranks(films: np.ndarray) -> np.ndarray:
    return rankdata(films, axis=None).reshape(films.shape) / (films.size + 1)


def kept(films: np.ndarray, answers: np.ndarray, possible: np.ndarray, margins: np.ndarray) -> bool:
    """Whether answers keep the order and the ties of films, and of the two pairs of each scene."""
    sums = np.sign(np.where(possible, answers, -answers).sum(1))
    same = np.array_equal(rankdata(answers, axis=None), rankdata(films, axis=None))
    return same and np.array_equal(sums, np.sign(margins))


def numbers_in(answers: str) -> np.ndarray:
    return np.array([float(line.split()[1]) for line in answers.splitlines()]).reshape(-1, 4)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 2, 9]), st.floats(1e-6, 1e6))
def test_answers_keep_every_order_and_tie(seed, digits, scale):
    chance = np.random.default_rng(seed)
    films = (chance.normal(size=(5, 4)).round(digits) * 7 - 4000) * scale
    margins = from_numbers(films, POSSIBLE).margins
    assert kept(films, numbers_in(write_answers(named(5), films, POSSIBLE, margins)), POSSIBLE, margins)


@pytest.mark.parametrize("unit", [0.1, 0.01, 1 / 3, 7 * 268435.7536154002])
def test_ties_of_numbers_on_a_grid_outlive_rounding(unit):
    """So many that only answers on a grid have all of them; without labels they are not even known."""
    chance = np.random.default_rng(10)
    films = chance.integers(0, 40, (1000, 4)) * unit - 90 * unit
    possible = chance.permuted(np.tile([True, True, False, False], (1000, 1)), axis=1)
    margins = from_numbers(films, possible).margins
    assert (margins == 0).sum() > 20
    answers = write_answers(named(1000), films, possible, margins)
    assert kept(films, numbers_in(answers), possible, margins)
    assert write_answers(named(1000), films, None, None) == answers


def test_curves_and_ranks_would_not():
    """What scores usually go through: a sigmoid in float32 underflows, ranks do not add up."""
    films = np.random.default_rng(4).normal(size=(5, 4)) * 40 - 4000
    margins = from_numbers(films, POSSIBLE).margins
    assert not kept(films, sigmoid(films), POSSIBLE, margins)
    films = np.array([[0.0, 10, 11, 30]] * 5) + np.arange(5)[:, None] / 8
    margins = from_numbers(films, POSSIBLE).margins
    assert not kept(films, ranks(films), POSSIBLE, margins)
    assert kept(films, films / 64, POSSIBLE, margins)


def test_exact_ties_of_pairs_outlive_rounding():
    """Means of frames that are exactly tied as sums, and are not as rounded means: the margin says so."""
    chance = np.random.default_rng(6)
    a, b, c, d = (chance.random((40, 17)) * 1000 for _ in range(4))
    films = -np.stack([np.c_[a, b].mean(1), np.c_[c, d].mean(1), np.c_[a, d].mean(1), np.c_[c, b].mean(1)], 1)
    possible = np.tile(np.array([True, True, False, False]), (40, 1))
    answers = numbers_in(write_answers(named(40), films, possible, np.zeros(40)))
    np.testing.assert_array_equal(answers[:, :2].sum(1), answers[:, 2:].sum(1))
    np.testing.assert_allclose(
        answers, 0.25 + (films - films.min()) / 2.0 ** np.ceil(np.log2(np.ptp(films))) / 2, rtol=0, atol=1e-14
    )


def test_the_benchmarks_script_counts_what_we_count():
    films = np.random.default_rng(8).normal(size=(5, 4)) * 50 - 3000
    margins = from_numbers(films, POSSIBLE).margins
    labels = {name: bool(p) for names, row in zip(named(5), POSSIBLE, strict=True) for name, p in zip(names, row)}  # noqa: B905
    found = official(write_answers(named(5), films, POSSIBLE, margins), labels)
    assert found["all"] == np.mean(margins < 0)
    assert set(found) == {"all", "O1_occluded_relative", "O2_visible_relative", "O3_occluded_relative",
                          "O1_visible_relative", "O2_occluded_relative"}  # fmt: skip


def test_a_constant_can_be_answered():
    assert set(numbers_in(write_answers(named(5), np.full((5, 4), -7.0), POSSIBLE, np.zeros(5))).ravel()) == {0.25}


def test_what_cannot_be_answered():
    message = (
        r"DATA must have names with O1, O2 or O3 and occluded or visible, .* got O1/0001/1; give an IntPhys folder"
    )
    with pytest.raises(ValueError, match=message):
        check_names(folders(2))
    for odd in ("O1/0001_occluded/5", "O1/0001_occluded/12", "O1/0001 occluded/1", "O1/0001_occluded/1 0.5"):
        with pytest.raises(ValueError, match=rf"^DATA must have names .* got {odd}; give"):
            check_names([[odd]])
    message = r"^--answers must keep all orders and ties on a scale of 2\^50 steps, got plausibility from 0 to 1"
    for films in ([0.0, 1e-17, 1, 1], [0, 5e-324, 1e300, 1]):
        with pytest.raises(ValueError, match=message):
            write_answers(named(5), np.array([films] * 5), None, None)


# --- reading -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("called", [named(5), folders(5)], ids=["names", "folders"])
def test_answers_are_read_back(tmp_path, called):
    films = np.random.default_rng(8).normal(size=(5, 4))
    text = write_answers(named(5), films, POSSIBLE, from_numbers(films, POSSIBLE).margins)
    long = [name for scene in named(5) for name in scene]
    short = [name for scene in called for name in scene]
    lines = [f"{short[long.index(line.split()[0])]} {line.split()[1]}" for line in text.splitlines()]
    path = tmp_path / "answer.txt"
    path.write_text("\n\n".join(reversed(lines)))
    found = read_scores(path, named(5), folders(5))
    assert list(found) == ["given"]
    np.testing.assert_array_equal(found["given"], numbers_in(text))


def test_a_table_may_hold_several_aggregates_and_other_columns(tmp_path):
    path, films = tmp_path / "films.csv", np.random.default_rng(8).normal(size=(2, 5, 4)) * 1e5
    rows = [
        f"{name},junk,{kind},{float(films[k, s, f])!r}"
        for k, kind in enumerate(("mean", "max"))
        for s, names in enumerate(named(5))
        for f, name in enumerate(names)
    ]
    path.write_text("\n".join(["film,possible,aggregate,plausibility", *rows]))
    found = read_scores(path, named(5))
    assert list(found) == ["mean", "max"]
    np.testing.assert_array_equal(list(found.values()), films)


@pytest.mark.parametrize("name", ["films.csv", "answer.txt"])
def test_what_is_no_text_is_a_faulty_file(tmp_path, name):
    (tmp_path / name).write_bytes("film,plausibility\nü,1\n".encode("latin-1"))
    with pytest.raises(
        FaultyFileError, match=f"{name} must be text in UTF-8, got 'utf-8' codec can't decode byte 0xfc"
    ):
        read_scores(tmp_path / name, named(1))


def test_the_mark_that_spreadsheets_put_before_a_text_is_no_part_of_it(tmp_path):
    rows = [f"{name},{place}" for place, name in enumerate(named(1)[0])]
    (tmp_path / "films.csv").write_text("\n".join(["film,plausibility", *rows]), encoding="utf-8-sig")
    np.testing.assert_array_equal(read_scores(tmp_path / "films.csv", named(1))["given"], [[0, 1, 2, 3]])


LINES = [f"{name} 0.5" for scene in named(3) for name in scene]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES, "O1/0001_occluded_static_nobj1/5 0.1"], "line 13 must name a film of DATA, got 'O1/0001_occluded_sta"
         "tic_nobj1/5'; did you mean O1/0001_occluded_static_nobj1/"),
        ([*LINES, "zebra 0.1"], "line 13 must name a film of DATA, got 'zebra'; look at the names in DATA, or"),
        ([*LINES[:5], *LINES[6:]], "must score every film of DATA, 12 in all, got 1 unscored, such as "
         "O2/0001_visible_dynamic_2_nobj3/2; add a line for each"),
        ([*LINES, LINES[3]], "line 13 must score each film once, got O1/0001_occluded_static_nobj1/4 again; leave one"),
        ([*LINES[:2], LINES[2][:-3] + "nan", *LINES[3:]], "line 3 must have a finite number as plausibility, got"),
        ([LINES[0][:-3] + "high"], "line 1 must have a finite number as plausibility, got 'high'; mend it"),
        ([LINES[0][:-3] + "1.5"], r"line 1 must have a plausibility in \[0, 1\], got 1.5; the benchmark's script"),
        ([LINES[0] + " 0.5"], "line 1 must be a film's name and its plausibility, got 'O1/0001_"),
        ([], "must score films, got no line; give one line per film"),
    ],
)  # fmt: skip
def test_answers_that_are_refused(tmp_path, lines, message):
    path = tmp_path / "answer.txt"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=message):
        read_scores(path, named(3))


def test_columns_that_a_spreadsheet_left_empty_are_passed_over(tmp_path):
    plain, wide = tmp_path / "plain.csv", tmp_path / "wide.csv"
    plain.write_text("film,plausibility\nO1/0001_occluded_static_nobj1/1,0.5\n")
    wide.write_text("film,plausibility,,\nO1/0001_occluded_static_nobj1/1,0.5,,,\n")
    assert [line[1:] for line in _table(wide)] == [line[1:] for line in _table(plain)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "film,surprise\na,1\n",
            "films.csv must begin with a head line that has film and plausibility, got 'film,surprise'; add",
        ),
        ("", "films.csv must begin with a head line that has film and plausibility, got 'nothing'; add it; larger"),
        ("film,plausibility\nO1/0001_occluded_static_nobj1/1,inf\n", "line 2 must have a finite number as plausibil"),
        (
            "film,plausibility\nO1/0001_occluded_static_nobj1/1,-1.7e308\n",
            "line 2 must have a plausibility from -1e300 to 1e300, got '-1.7e308'; give the least",
        ),
        ("film,plausibility\nO1/0001_occluded_static_nobj1/1\n", "line 2 must have a finite number as plausibility, g"),
        (
            "film,plausibility\nO1/0001_occluded_static_nobj1/1,0,4802\n",
            "line 2, must have 2 values, as the head line has, got also 4802; write decimals with a point$",
        ),
        (
            "film;plausibility\na;1\n",
            "that has film and plausibility, got 'film;plausibility'; separate columns by com",
        ),
        ("film,surprise;b\na,1\n", "got 'film,surprise;b'; add it; larger plausibility is more plausible$"),
        ("film\tplausibility\na\t1\n", r"got 'film\\tplausibility'; separate columns by commas$"),
        ("Film, Plausibility\na,1\n", "got 'Film, Plausibility'; write them so, in small letters and without spaces$"),
        (
            "film,plausibility,plausibility\na,1,2\n",
            "the head line of .*/films.csv must name each once, got plausibility",
        ),
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    path = tmp_path / "films.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_scores(path, named(3))


@pytest.mark.parametrize("labels", [("true", "false"), ("1", "0"), ("TRUE", "FALSE")])
@pytest.mark.parametrize("films", ["films.csv", "FILMS.CSV"])
def test_a_table_of_films_whose_labels_are_others_is_refused(tmp_path, films, labels):
    path, (yes, no) = tmp_path / films, labels
    rows = [f"{name},{k},{yes if is_possible else no}" for k, (name, is_possible) in
            enumerate(zip(named(1)[0], POSSIBLE[0], strict=True))]  # fmt: skip
    path.write_text("\n".join(["film,plausibility,possible", *rows]))
    assert read_scores(path, named(1), possible=POSSIBLE[:1])["given"].tolist() == [[0, 1, 2, 3]]
    with pytest.raises(
        ValueError, match=r"line 2 must say of a film whether it is possible as DATA does, got possible"
    ):
        read_scores(path, named(1), possible=~POSSIBLE[:1])


def test_the_least_and_the_most_plausible_are_answers(tmp_path):
    (tmp_path / "answer.txt").write_text("".join(f"{name} {k % 2}\n" for k, name in enumerate(named(1)[0])))
    assert read_scores(tmp_path / "answer.txt", named(1))["given"].tolist() == [[0, 1, 0, 1]]


@pytest.mark.parametrize("before", ["", "film,plausibility\nO1/0001_occluded_static_nobj1/1,0.5\n"])
def test_a_quote_that_is_not_closed_is_said(tmp_path, before):
    path = tmp_path / "films.csv"
    path.write_text(before + '"film,plausibility\n' + "a,0.25\n" * 20_000)
    must = r"films\.csv, after line \d+, must be CSV, got field larger than field limit \(131072\); look for a quote"
    with pytest.raises(FaultyFileError, match=must):
        read_scores(path, named(3))


def test_a_score_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"--scores must be an existing file, got .*gone.csv \(nothing there\)"):
        read_scores(tmp_path / "gone.csv", named(3))


def test_lines_of_a_table_that_name_no_aggregate_are_called_given(tmp_path):
    names, path = named(1), tmp_path / "theirs.csv"
    lines = [f"{name},{k},\n" for k, name in enumerate(names[0])]
    path.write_text("".join(["film,plausibility,aggregate\n", *lines]))
    assert list(read_scores(path, names)) == ["given"]


def test_sums_too_close_together_cannot_be_answered():
    """Each film keeps its rank, but a margin of a third of a step of 2^-50 is lost."""
    first, second = POSSIBLE.cumsum(1) == 1, (~POSSIBLE).cumsum(1) == 1
    films = np.where(POSSIBLE, np.where(first, 0.0, 1.0), np.where(second, 0.3, 0.7 - 6e-16))
    margins = from_numbers(films, POSSIBLE).margins
    assert (margins > 0).all()
    with pytest.raises(ValueError, match=r"^--answers must keep all orders and ties"):
        write_answers(named(5), films, POSSIBLE, margins)
