"""No setting of a model is read and then forgotten: another value changes the model, or it is refused."""

from contextlib import nullcontext
from typing import Any, get_args

import pytest
import torch
from core_checks import FEATURES, SMALL
from slow_proofs import slow
from torch import nn

from videopred.commands.training import train
from videopred.flags import read
from videopred.flags.model_flags import check_codec_used, with_model_flags
from videopred.models import CODECS, CORES, DECODERS, build, build_core, core_config
from videopred.models.core import unroll
from videopred.models.core_settings import CoreSettings
from videopred.models.settings import PredictorConfig
from videopred.settings import Settings

_EVEN, _NO_NULL = {"input_attention": False, "competition": "random"}, {"null_slot": False, "competition": "random"}
SWITCHES: dict[str, list[dict[str, Any]]] = {
    name: [{"comm": False}, {"comm_source": "state"}, _EVEN, _NO_NULL] for name in CORES if name.endswith("rims")
}
SWITCHES["rims"] += [{"reads": "map"}, {"reads": "strips"}, {"competition": "modules"}]
SWITCHES["rims"] += [{"reads": "map", **_EVEN}, {"reads": "map", **_NO_NULL}]
SWITCHES["mld-rims"] += [{"per_module_slots": True, **_NO_NULL}]
SWITCHES["scoff"] = [{"comm": False}, {"frozen_schema": True}, {"reads": "vector"}, {**_EVEN, "active": 3}]
CASES = [*((name, {}) for name in CORES), *slow(*((name, one) for name in SWITCHES for one in SWITCHES[name]))]
OTHER = {"active": 2, "comm_topk": 1, "input_gain": 2.0, "key_size": 3, "position_width": 5}
"""Another value of what may be None."""


def others(settings: Settings) -> dict[str, Any]:
    """Another value of each setting; of a size, twice as much."""
    found = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name == "kind":
            continue
        if value is None:
            found[name] = OTHER[name]
        elif isinstance(value, bool):
            found[name] = not value
        elif isinstance(value, str):
            found[name] = next(choice for choice in get_args(field.annotation) if choice != value)
        elif isinstance(value, tuple):
            found[name] = tuple(2 * part for part in value)
        else:
            found[name] = value / 2 if isinstance(value, float) else 2 * value
    return found


def numbers_of(model: nn.Module, films: torch.Tensor, output_of: Any) -> list[torch.Tensor]:
    """Weights, and what the model gives out and how it learns, in training and in evaluation."""
    found = [weight.detach().clone() for weight in model.double().parameters()]
    for learning in (True, False):
        model.train(learning).zero_grad()
        torch.manual_seed(4)
        output = output_of(model, films)
        output.square().sum().backward()
        found += [output.detach(), *(weight.grad for weight in model.parameters() if weight.grad is not None)]
    return found


def core_numbers(config: CoreSettings) -> list[torch.Tensor]:
    torch.manual_seed(0)
    core = build_core(config, FEATURES)
    slots = {"vector": 1, "map": 3, "strips": core.rows}[core.input_kind]
    films = torch.randn(2, 5, slots, FEATURES, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return numbers_of(core, films, lambda core, films: unroll(core, films).output)


def flags_of(part: str, settings: dict[str, Any]) -> list[str]:
    """Settings as one types them."""
    words: list[str] = []
    for name, value in settings.items():
        if isinstance(value, bool):
            words.append(f"--{part}.{name}" if value else f"--{part}.no-{name}")
        else:
            words += [f"--{part}.{name}", *map(str, value if isinstance(value, tuple) else [value])]
    return words


def read_flags(words: list[str]) -> None:
    words = ["DATA", *words]
    check_codec_used(read(with_model_flags(train, words), "train", words), words)


def alike(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    if [value.shape for value in some] != [value.shape for value in others]:
        return False
    return all(torch.allclose(*pair, rtol=1e-9, atol=1e-13) for pair in zip(some, others, strict=True))


@pytest.mark.parametrize(("name", "switches"), CASES, ids=str)
def test_another_value_changes_a_core_or_is_refused(name, switches):
    usual = SMALL[name].changed(**switches)
    before, idle, contradicting = core_numbers(usual), set(), set()
    for setting, value in others(usual).items():
        try:
            changed = usual.changed(**{setting: value})
        except ValueError:
            contradicting.add(setting)
            continue
        if alike(before, core_numbers(changed)):
            idle.add(setting)
            words = ["--core", name, *flags_of("core", {**switches, setting: value})]
            with pytest.raises(ValueError, match=r"^--core\..* must be left out with --core\..*; it changes nothing"):
                read_flags(words)
    assert idle == set(usual.unused) - contradicting


def test_a_setting_that_changes_nothing_is_refused_from_python_too():
    message = r"^--core\.comm-heads must be left out with --core\.no-comm, got 2; it changes nothing beside that"
    with pytest.raises(ValueError, match=message):
        core_config("rims", comm=False, comm_heads=2)
    assert not core_config("rims", comm=False).comm


def test_without_a_null_slot_attention_is_still_divided_between_slots_of_a_map_and_with_the_layer_above():
    words: dict[str, Any] = {"null_slot": False, "competition": "random", "input_heads": 2}
    assert core_config("brims", **words).input_heads == 2
    assert core_config("rims", reads="map", **words).input_heads == 2
    message = r"^--core\.input-heads must be left out with --core\.no-null-slot, which leaves one slot, got 2"
    with pytest.raises(ValueError, match=message):
        core_config("hierarchical-rims", **words)
    for reads in ("vector", "strips"):
        with pytest.raises(ValueError, match=message):
            core_config("rims", reads=reads, **words)


def predictor_numbers(config: PredictorConfig) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = build(config, (1, 32, 24))
    films = torch.rand(2, 3, 1, 32, 24, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return numbers_of(model, films, lambda model, films: model(films).logits)


@pytest.mark.parametrize("core", ["scoff", *slow("gru", "rims --core.reads strips")])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("decoder", DECODERS)
def test_another_value_changes_codec_and_decoder_or_its_flag_is_refused(codec, decoder, core):
    name, *words = core.split()
    settings = SMALL[name].changed(**({"reads": words[1]} if words else {}))
    usual = PredictorConfig(
        core=settings, codec=CODECS[codec][0](channels=(2, 4, 6), embedding=8), decoder=DECODERS[decoder][0]()
    )
    before = predictor_numbers(usual)
    words = ["--core", name, *words, "--codec", codec, "--decoder", decoder]
    for part, value in usual:
        for setting, other in others(value).items() if part in ("codec", "decoder") else ():
            changed = type(value)(**{**value.model_dump(), setting: other})
            idle = alike(before, predictor_numbers(usual.model_copy(update={part: changed})))
            refusal = pytest.raises(
                ValueError, match=f"^--{part}.{setting.replace('_', '-')} must (be left out|come) with"
            )
            with refusal if idle else nullcontext():
                read_flags([*words, *flags_of(part, {setting: other})])
