"""How amounts are said."""

import numpy as np
import pytest

from videopred.amounts import counted, duration, four_digits, number_told, parts_told, shapes_told, size


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599, "59 min 59 s"),
        (3599.7, "1 h 0 min"),
        (11_405, "3 h 10 min"),
        (86_399, "23 h 59 min"),
        (90_000, "1 day 1 h"),
        (9e5, "10 days 10 h"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds, told):
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999.4, "999 bytes"),
        (999.6, "1 kB"),
        (9949, "9.9 kB"),
        (9951, "10 kB"),
        (119_400_000, "119 MB"),
        (999_499_999, "999 MB"),
        (999_500_000, "1 GB"),
        (2.34e9, "2.3 GB"),
        (4.5e12, "4.5 TB"),
        (2.3e15, "2300 TB"),
    ],
)
def test_bytes_are_told_in_the_largest_unit_that_fits(count, told):
    assert size(count) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (255, "255"),
        (1 / 3, "0.333333"),
        (-2.5e-8, "-2.5e-08"),
        (1.0000003, "1.0000003"),
        (np.float32(1 + 2**-22), "1.000000238418579"),
        (254.99999, "254.99999"),
        (np.uint8(7), "7"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
    ],
)
def test_a_number_is_told_so_that_it_is_not_taken_for_a_whole_one(value, told):
    assert number_told(value) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0123456, "0.01235"),
        (174.964, "175"),
        (9999.4, "9999"),
        (9999.6, "10000"),
        (-24680.4, "-24680"),
        (987654321.4, "987654321"),
        (1234567890, "1.235e+09"),
        (0.0, "0"),
        (5.041e24, "5.041e+24"),
        (float("inf"), "inf"),
    ],
)
def test_a_large_number_keeps_all_its_digits(value, told):
    assert four_digits(value) == told


def test_one_is_singular_and_thousands_are_set_apart():
    assert [counted(number, "true frame") for number in (0, 1, 2)] == ["0 true frames", "1 true frame", "2 true frames"]
    assert counted(50_000, "clip") == "50,000 clips"


def test_clips_are_told_part_by_part():
    assert parts_told({"train": 2000, "test": 200}) == "2,000 train, 200 test"


def test_shapes_are_told_array_by_array():
    assert shapes_told({"frames": np.zeros((5, 2, 3, 1)), "events": np.zeros(5)}) == "frames (5, 2, 3, 1), events (5,)"
