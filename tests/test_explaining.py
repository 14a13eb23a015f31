"""What pydantic says of settings, told as every other complaint."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, field_validator

from videopred import check
from videopred.explaining import explain


class Inner(BaseModel):
    size: PositiveInt = 3


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    inner: Inner = Inner()
    must_be_given: int
    even: int = 2
    name: str = ""
    sizes: tuple[int, ...] = Field((3,), min_length=1)
    ends: tuple[int, int] = (0, 1)
    steps: tuple[int, ...] = Field((5, 7), min_length=2)

    @field_validator("even")
    @classmethod
    def _is_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError(check.complaint("--even", "be even", value, "add one"))
        return value


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "--must-be-given must be given, got nothing; see --help"),
        (
            {"must_be_given": 1, "odd": 5},
            "--odd must be a known setting, got 5; remove it, or see --help for the names",
        ),
        (
            {"must_be_given": 1, "inner": {"size": 0}},
            "--inner.size must be greater than 0, got 0; choose one that is",
        ),
        (
            {"must_be_given": "1"},
            "--must-be-given must be a valid integer, got '1'; see --help",
        ),
        ({"odd": 5}, "--odd must be a known setting, got 5; remove it, or see --help for the names"),
        ({"must_be_given": "1", "odd": 5}, "--must-be-given must be a valid integer, got '1'; see --help"),
        ({"must_be_given": 1, "sizes": ()}, "--sizes must have at least 1 item, got nothing; see --help"),
        ({"must_be_given": 1, "steps": (4,)}, "--steps must have at least 2 items, got (4,); see --help"),
        ({"must_be_given": 1, "ends": (4,)}, "--ends must have one more value, got (4,); see --help"),
        ({"must_be_given": 1, "even": 3}, "--even must be even, got 3; add one"),
    ],
)
def test_a_pydantic_error_becomes_a_complaint(values, said):
    with pytest.raises(ValidationError) as caught:
        Outer(**values)
    assert explain(caught.value, "--") == said


def test_what_is_no_json_is_said_in_the_same_form():
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate_json('{"must_be_given": ')
    said = explain(caught.value)
    assert said == "settings must be JSON, got EOF while parsing a value at line 1 column 18; mend it there"


def test_the_nearest_of_known_settings_is_offered():
    with pytest.raises(ValidationError) as caught:
        Outer(must_be_giving=1, must_be_given=1)
    said = "--must-be-giving must be a known setting, got 1; did you mean --must-be-given?"
    assert explain(caught.value, "--", Outer.model_fields) == said


def test_a_kind_that_the_place_of_settings_gives_is_not_offered():
    with pytest.raises(ValidationError) as caught:
        Outer(kinds=1, must_be_given=1)
    said = "--kinds must be a known setting, got 1; remove it, or see --help for the names"
    assert explain(caught.value, "--", ["kind", "must_be_given"]) == said


class House(BaseModel):
    model_config = ConfigDict(extra="forbid")
    outer: Outer


def test_what_is_left_out_of_a_section_is_not_misspelt_beside_it():
    with pytest.raises(ValidationError) as caught:
        House(outer={}, odd=5)
    assert explain(caught.value, "--") == "--outer.must-be-given must be given, got nothing; see --help"


class Cat(Inner):
    kind: Literal["cat"] = "cat"


class Dog(Inner):
    kind: Literal["dog"] = "dog"


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


@pytest.mark.parametrize(
    ("pet", "said"),
    [
        ({"kind": "dot"}, "--pet must be one of cat, dog, got dot; did you mean dog?"),
        ({}, "--pet.kind must be given, got nothing; say what the other settings are of"),
        ("dog", "--pet must be settings, got 'dog'; give an object of their class, or a dict with their kind"),
    ],
)
def test_settings_of_no_known_kind_are_told_which_there_are(pet, said):
    with pytest.raises(ValidationError) as caught:
        Owner(pet=pet)
    assert explain(caught.value, "--") == said


def test_a_text_that_is_no_number_is_said_without_the_parser():
    with pytest.raises(ValidationError) as caught:
        Inner(size="many")
    assert explain(caught.value) == "size must be a valid integer, got 'many'; see --help"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"must_be_given": 1, "sizes": 5}, "--sizes must be a list, got 5; write [5]"),
        (
            {"must_be_given": 1, "name": print},
            "--name must be a valid string, got <built-in function print>; give its address, as MODULE:NAME",
        ),
        (
            {"must_be_given": print},
            "--must-be-given must be a valid integer, got <built-in function print>; see --help",
        ),
        ({"must_be_given": 1, "sizes": None}, "--sizes must be a list, got None; see --help"),
    ],
)
def test_what_a_program_gives_instead_is_told_how_to_be_written(values, said):
    with pytest.raises(ValidationError) as caught:
        Outer(**values)
    assert explain(caught.value, "--") == said
