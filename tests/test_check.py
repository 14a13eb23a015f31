"""Complaints: what a user reads when something was wrong."""

from pathlib import Path

import numpy as np
import pytest

from videopred import check


def test_a_complaint_says_what_it_must_be_what_it_was_and_what_to_do():
    assert (
        check.complaint("--context", "be at least 1", 0, "raise it") == "--context must be at least 1, got 0; raise it"
    )


def test_a_value_is_told_in_one_line():
    assert check.complaint("x", "be one", "a\n   b\n\n c", "choose") == "x must be one, got a b c; choose"


def test_an_empty_value_is_seen():
    assert check.complaint("x", "be a name", "", "give one") == "x must be a name, got ''; give one"


def test_a_long_value_is_cut():
    said = check.complaint("x", "be short", "a" * 300, "cut it")
    assert said == f"x must be short, got {'a' * 300}; cut it"
    said = check.complaint("x", "be short", "a" * 301, "cut it")
    assert said == f"x must be short, got {'a' * 297}...; cut it"


def test_require():
    check.require(True, "x", "be", 1, "do")
    with pytest.raises(ValueError, match=r"^x must be, got 1; do$"):
        check.require(False, "x", "be", 1, "do")


def test_what_is_there_twice_is_named():
    check.each_once("--draw", (3, 1, 2))
    with pytest.raises(ValueError, match=r"^--draw must name each once, got 1, 3 twice; leave one out$"):
        check.each_once("--draw", (1, 3, 1, 2, 3, 3))


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("rimz", "did you mean rims[?]"),
        ("lsmt", "did you mean lstm[?]"),
        ("transformer", "choose one of these"),
        ("gpu", "did you mean gru[?]"),
    ],
)
def test_a_wrong_choice_lists_all_and_offers_the_nearest(value, fix):
    choices = iter(["gru", "lstm", "rims"])  # may be read once only
    with pytest.raises(ValueError, match=f"^--core must be one of gru, lstm, rims, got {value}; {fix}$"):
        check.one_of("--core", value, choices)
    assert check.one_of("--core", "lstm", ["gru", "lstm"]) == "lstm"


def test_spaces_are_offered_between_choices_alone():
    for value, fix in (("gru,rims", "put spaces between them: gru rims"), ("gru,7", "(did you mean|choose) .*")):
        with pytest.raises(ValueError, match=f"^--core must be one of gru, rims, got {value}; {fix}$"):
            check.one_of("--core", value, ["gru", "rims"])


def test_a_threshold_may_be_all_of_a_pixel_and_films_of_elsewhere_are_not_rolled_out():
    assert check.threshold_of("threshold:1") == 1
    assert check.threshold_of("elsewhere") is check.threshold_of("true") is None
    for name in ("elsewhere", "true"):
        with pytest.raises(ValueError, match=f"^--feedback must be one of soft, threshold:0.5, sample, got {name}; "):
            check.threshold_of(name, rolled=True)


def test_a_device_that_is_left_to_us_has_no_number():
    assert [check.device_kind(name) for name in ("cuda:1", "auto")] == ["cuda", "auto"]
    with pytest.raises(ValueError, match=r"^--device must be one of auto, cpu, cuda, mps, got auto:1; did you mean "):
        check.device_kind("auto:1")


def test_where_there_is_no_choice_it_is_said():
    with pytest.raises(ValueError, match=r"^truth must be one that is there, got positions; there is none$"):
        check.one_of("truth", "positions", [])


@pytest.mark.parametrize(
    ("value", "error", "must"),
    [
        (2, ValueError, "be at least 3, got 2"),
        (-7, ValueError, "be at least 3, got -7"),
        (4.0, TypeError, r"be a whole number, got 4\.0"),
        (np.float32(4), TypeError, r"be a whole number, got np\.float32\(4\.0\)"),
        (True, TypeError, "be a whole number, got True"),
        ("5", TypeError, "be a whole number, got '5'"),
    ],
)
def test_a_number_that_is_not_whole_or_too_small(value, error, must):
    with pytest.raises(error, match=f"^--clips must {must}; give more$"):
        check.whole_number("--clips", value, 3, "give more")
    for value in (3, np.int64(3), np.uint8(3)):
        taken = check.whole_number("--clips", value, 3, "give more")
        assert taken == 3
        assert type(taken) is int  # what JSON can hold


def test_a_kind_is_required():
    check.require_kind(True, "film", "be a tensor", "list", "make one")
    with pytest.raises(TypeError, match=r"^film must be a tensor, got list; make one$"):
        check.require_kind(False, "film", "be a tensor", "list", "make one")


def test_paths_are_shown_as_they_were_typed():
    assert "got models/x;" in check.complaint("RUN", "be there", Path("models/x"), "go")


@pytest.mark.parametrize("kind", [ValueError, check.FaultyFileError, FileNotFoundError])
def test_a_complaint_is_about_what_the_command_calls_it(kind):
    with pytest.raises(kind, match=r"^--pred must be DATA, got SOURCE; see DATA$"), check.named({"SOURCE": "--pred"}):
        raise kind(check.complaint("SOURCE", "be DATA", "SOURCE", "see DATA"))


@pytest.mark.parametrize("error", [ValueError("DATA must be there, got none; make it"), OSError("SOURCE is full")])
def test_other_complaints_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, check.named({"SOURCE": "--pred"}):
        raise error
    assert caught.value is error


@pytest.mark.parametrize(
    ("values", "typed"), [((0.7, 5.0), "0.7 5"), ((3, 8, 3), "3 8 3"), (("O1", "O3"), "O1 O3"), ((), "nothing")]
)
def test_values_are_told_as_they_are_typed(values, typed):
    assert check.as_typed(values) == typed
