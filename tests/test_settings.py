"""Settings: frozen, strict, and the same after a trip through JSON."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from videopred.check import complaint
from videopred.datasets import DATASETS
from videopred.datasets.import_settings import ImportConfig
from videopred.eval import METRICS, OBJECT_METRICS
from videopred.eval.plausibility_settings import PlausibilityConfig
from videopred.eval.settings import GivenConfig
from videopred.models import CODECS, CORES, DECODERS
from videopred.models.codec_settings import FilesConfig, RNEMConfig
from videopred.models.intervention_settings import Intervention
from videopred.models.modular_settings import RIMsConfig
from videopred.models.rival_settings import GRUConfig, LSTMConfig
from videopred.models.settings import OwnConfig, PredictorConfig
from videopred.rendering.settings import ClipChoice, PictureConfig
from videopred.settings import ComputeConfig, Settings, TrainingConfig, WatchConfig

ALL: dict[str, type[Settings]] = {
    kind.__name__: kind
    for kind in (
        *(type(preset.recipe) for preset in DATASETS.values()),
        *(entry[0] for table in (CORES, CODECS, DECODERS, METRICS, OBJECT_METRICS) for entry in table.values()),
        *(PredictorConfig, TrainingConfig, ComputeConfig, WatchConfig, PictureConfig),
        *(ClipChoice, GivenConfig, ImportConfig, Intervention, PlausibilityConfig),
    )
}


@pytest.mark.parametrize("name", ALL)
def test_settings_survive_json(name):
    settings = ALL[name]()
    assert ALL[name].model_validate_json(settings.model_dump_json()) == settings
    assert ALL[name](**settings.model_dump(mode="json")) == settings


@pytest.mark.parametrize("name", ALL)
def test_settings_cannot_be_changed(name):
    settings = ALL[name]()
    for field in type(settings).model_fields:
        message = (
            rf"^{field} must stay as it is, got .*; take a copy .*: settings\.model_copy\(update={{'{field}': …}}\)$"
        )
        with pytest.raises(AttributeError, match=message):
            setattr(settings, field, getattr(settings, field))
    with pytest.raises(AttributeError, match=r"^xyzzy must stay as it is, got 3; take a copy"):
        settings.xyzzy = 3
    assert settings == ALL[name]()


@pytest.mark.parametrize("name", ALL)
def test_a_copy_is_equal_and_another_object(name):
    settings = ALL[name]()
    for copy in (settings.model_copy(), settings.model_copy(deep=True)):
        assert (copy, copy.model_fields_set) == (settings, settings.model_fields_set)
        assert copy is not settings


def test_a_copy_is_checked_like_what_is_new():
    settings = TrainingConfig(updates=6, batch_size=4)
    copy = settings.model_copy(update={"updates": np.int64(9)})
    assert copy == TrainingConfig(updates=9, batch_size=4)
    assert settings.updates == 6
    for update, message in (
        ({"batchsize": 2}, "^--batchsize must be a known setting, got 2; did you mean --batch-size"),
        ({"precision": "bf16"}, "^--precision must be .*, got 'bf16'"),
        ({"updates": -3}, "^--updates must be .*, got -3"),
        ({"accumulate": 3}, "^--batch-size must be a multiple of --accumulate 3, got 4; "),
    ):
        with pytest.raises(ValueError, match=message):
            settings.model_copy(update=update)


def test_a_deep_copy_shares_nothing():
    core = OwnConfig(source="some:Core", settings={"sizes": [1, 2]})
    PredictorConfig(core=core).model_copy(deep=True).core.settings["sizes"].append(3)
    assert core.settings["sizes"] == [1, 2]


@pytest.mark.parametrize("name", ALL)
def test_unknown_settings_are_refused(name):
    with pytest.raises(ValueError, match="must be a known setting, got 'red'; remove it, or see --help") as caught:
        ALL[name](xyzzy="red")
    assert str(caught.value).startswith(f"{ALL[name].flag_prefix}xyzzy must")


@pytest.mark.parametrize("name", ALL)
def test_settings_explain_themselves(name):
    """The first line of a class stands in listings, the line below a setting in the help."""
    first = (ALL[name].__doc__ or "").split("\n")[0]
    assert first.endswith((".", ")"))
    for field, info in ALL[name].model_fields.items():
        assert field == "kind" or info.description, field


@pytest.mark.parametrize("name", ALL)
def test_help_says_which_values_a_setting_may_have(name):
    """Where it is not simply above 0, or 0 and more; bounds beyond a million only keep out what no machine can do."""
    for field, of in ALL[name].model_json_schema()["properties"].items():
        limits = dict(_limits(of))
        if limits.get("minimum", 0) > 1 or limits.get("maximum", 10**7) <= 10**6:
            said = re.findall(r"\d[\d.e-]*\d|\d", of["description"])
            assert {float(number) for number in said} >= set(limits.values()), (field, limits)


def _limits(schema: Any) -> Iterator[tuple[str, float]]:
    """Which bounds a JSON schema has for a number in it: minimum and maximum."""
    for key, value in schema.items() if isinstance(schema, dict) else ():
        kind = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}.get(key, key)
        if kind in ("minimum", "maximum"):
            yield kind, float(value)
        for part in value if isinstance(value, list) else [value]:
            yield from _limits(part)


def test_other_cores_survive_json():
    for core in (GRUConfig(units=5), LSTMConfig(units=7), RIMsConfig(modules=3, active=2, units=8, cell="gru")):
        config = PredictorConfig(core=core, codec=RNEMConfig(channels=(2, 3), embedding=11))
        again = PredictorConfig.model_validate_json(config.model_dump_json())
        assert again == config
        assert type(again.core) is type(core)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrainingConfig(updates=0), "--updates must be greater than 0, got 0; choose one that is"),
        (lambda: TrainingConfig(updates=10**400), "--updates must be less than or equal to 1000000000000, got 1000"),
        (lambda: TrainingConfig(updates=True), "--updates must be a valid integer, got True"),
        (lambda: TrainingConfig(updates=3.0), "--updates must be a valid integer, got 3.0"),
        (lambda: TrainingConfig(learning_rate=1e38), "--learning-rate must be at most 1e36, got 1e+38; lower it"),
        (lambda: TrainingConfig(learning_rate=float("nan")), "--learning-rate must be a finite number, got nan"),
        (lambda: TrainingConfig(seed=-1), "--seed must be greater than or equal to 0, got -1"),
        (lambda: TrainingConfig(seed=2**64), "--seed must be less than 18446744073709551616, got 18446744073709551616"),
        (lambda: TrainingConfig(validation_share=1.0), "--validation-share must be less than 1, got 1.0"),
        (lambda: TrainingConfig(schedule="cosin"), "--schedule must be 'constant', 'cosine', 'step' or 'plateau', got"),
        (lambda: RNEMConfig(channels=()), "--codec.channels must"),
        (lambda: RNEMConfig(channels=(3, 0)), "--codec.channels must be greater than 0, got 0"),
        (
            lambda: RIMsConfig(active=9),
            "--core.active must be at most 6, got 9; lower --core.active or raise --core.mo",
        ),
        (lambda: RIMsConfig(input_heads=3), "--core.input-heads must divide 4 units = 400, got 3; choose 1, 2 or 4"),
        (lambda: RIMsConfig(dropout=1.0), "--core.dropout must be less than 1, got 1.0"),
        (lambda: PredictorConfig(core={"kind": "perceptron"}), "--core must"),
        (lambda: PredictorConfig(codec={"kind": "vgg"}), "--codec must"),
        (lambda: FilesConfig(queries=0), "--decoder.queries must be greater than 0, got 0"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("deviation", "gaussian_deviation"),
        ("decay", "decay_factor"),
        ("patience", "plateau_patience"),
        ("validation_share", "share_held_out"),
        ("validation_clips", "validation_clips_made"),
    ],
)
def test_help_says_what_none_stands_for(field, meant):
    training = TrainingConfig()
    assert getattr(training, field) is None
    assert str(TrainingConfig.model_fields[field].description).endswith(f"default: {getattr(training, meant)}.")


def test_largest_seed():
    assert TrainingConfig(seed=2**64 - 1).seed == 2**64 - 1


def test_our_own_checks_speak_for_themselves():
    class Even(Settings):
        size: int = 2

        def model_post_init(self, _: object) -> None:
            if self.size % 2:
                raise ValueError(complaint("--size", "be even", self.size, "add one"))

    with pytest.raises(ValueError, match=r"^--size must be even, got 3; add one$"):
        Even(size=3)


def test_a_list_is_taken_for_a_tuple_and_nothing_else_is_cast():
    assert RNEMConfig(channels=[2, 5]).channels == (2, 5)
    with pytest.raises(ValueError, match=r"^--codec.channels must be a valid integer, got '2'"):
        RNEMConfig(channels=["2"])


def test_numbers_and_arrays_of_numpy_and_torch_become_those_of_python():
    for channels in ([np.int64(2), np.uint8(5)], np.array([2, 5]), torch.tensor([2, 5])):
        taken = RNEMConfig(channels=channels)
        assert taken == RNEMConfig(channels=(2, 5))
        assert [type(number) for number in taken.channels] == [int, int]
    taken = TrainingConfig(updates=np.int32(7), noise=np.float32(0.25)), ComputeConfig(cuda_graphs=np.True_)
    assert taken == (TrainingConfig(updates=7, noise=0.25), ComputeConfig(cuda_graphs=True))
    assert [type(value) for value in (taken[0].updates, taken[0].noise, taken[1].cuda_graphs)] == [int, float, bool]
    with pytest.raises(ValueError, match=r"^--updates must be a valid integer, got 7\.0"):
        TrainingConfig(updates=np.float64(7))
    with pytest.raises(ValueError, match=r"^--codec.channels must be a valid integer, got \(2, 5\)"):
        RNEMConfig(channels=np.array([[2, 5]]))


class Undescribed(Settings):
    size: int = 3
    """How large."""


class SaysSo(Settings):
    """Settings that list theirs.

    Attributes:
        size: in px.
    """

    size: int = 3
    """How large."""


class Inherits(Undescribed):
    """More of them."""

    speed: float = 0.5
    """How fast: a long
    way to say it."""


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (Undescribed, "Attributes:\n    size: How large."),
        (SaysSo, "Settings that list theirs.\n\nAttributes:\n    size: in px."),
        (Inherits, "More of them.\n\nAttributes:\n    size: How large.\n    speed: How fast: a long way to say it."),
    ],
)
def test_help_has_each_setting_once(settings, told):
    assert inspect.getdoc(settings) == told


def test_decay_and_patience_go_with_the_schedules_that_read_them():
    assert TrainingConfig(schedule="plateau", decay=0.3, patience=2).decay_factor == 0.3
    with pytest.raises(ValueError, match=r"^--patience must come with --schedule plateau, got 2 without; leave it"):
        TrainingConfig(stop_after=7, patience=2)
