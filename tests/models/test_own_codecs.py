"""Codecs and decoders from elsewhere, by MODULE:CLASS: those of docs/adding.md, in commands and models."""

import copy
import re
import sys

import pytest
import torch
from command_line import run
from documents import commands
from own_codecs import CODEC, DECODER, GUIDE, LEARNING, PARTS, SMALL, seen
from tiny_runs import tiny_data
from torch import nn

from videopred.checkpoint import load_run
from videopred.experiments import read_experiment
from videopred.export import export_run
from videopred.models import CORES, DECODERS, build, core_config
from videopred.models.codec_settings import MasksConfig
from videopred.models.settings import OwnCodecConfig, OwnDecoderConfig, PredictorConfig
from videopred.models.trial import try_out
from videopred.rollout import roll_out


def test_the_guides_parts_are_trained_kept_and_used_as_it_says(parts, capsys):
    tiny_data(parts / "datasets" / "balls4.h5")
    line = commands(GUIDE)[0].removeprefix("videopred ")
    assert run(f"{line} {SMALL} {LEARNING}") == 0
    model = load_run(parts / "models" / "patches")
    assert model.config.codec.settings["channels"] == 32
    assert model.config.decoder == OwnDecoderConfig(source=DECODER)
    film = torch.rand(2, 3, *model.film_shape)
    model.eval()
    logits = model(film).logits
    assert logits.shape == film.shape
    again = load_run(export_run(parts / "models" / "patches")).eval()
    torch.testing.assert_close(again(film).logits, logits, rtol=0, atol=0)
    assert run("evaluate models/patches datasets/balls4.h5 --context 3 --horizon 4") == 0
    assert run("export models/patches --card --overwrite") == 0
    card = (parts / "models" / "patches.md").read_text()
    assert "| codec | `myparts:Patches`, channels 32 |\n| decoder | `myparts:Summed` |" in card
    assert "can import the codec `myparts:Patches` and the decoder `myparts:Summed`:" in card
    capsys.readouterr()
    begin = f"train datasets/balls4.h5 --init-from models/patches {LEARNING}"
    assert run(f"{begin} --out next") == 0
    assert load_run(parts / "next").config == model.config
    assert run(f"{begin} --codec.channels 6 --out other") == 2
    assert "hold the same model, with codec.channels 6, got codec.channels 32; " in capsys.readouterr().err
    assert run(f"{begin} --codec rnem --out other") == 2
    assert "with codec rnem, got codec myparts:Patches; " in capsys.readouterr().err


def test_they_are_resumed_and_take_the_place_of_an_experiments(parts):
    data = tiny_data(parts)
    words = f"--codec myparts:Patches --codec.channels 6 --decoder {DECODER}"
    assert run(f"train {data} {words} {SMALL} {LEARNING} --time-limit 0s --out run") == 130
    assert run("train --resume run --time-limit 1h --device cpu") == 0
    assert load_run(parts / "run").config.codec.settings["channels"] == 6
    assert run(f"train rims-balls4 --scale tiny {words} --write mine.json") == 0
    assert run("train mine.json --updates 1 --device cpu --out of-mine") == 0
    assert load_run(parts / "of-mine").config.codec.settings["channels"] == 6


def test_they_are_tried_again_where_a_run_goes_on(parts, capsys):
    words = f"--decoder {DECODER} --codec.channels 2 3 {SMALL} {LEARNING} --time-limit 0s --out run"
    assert run(f"train {tiny_data(parts)} {words}") == 130
    (parts / "myparts.py").write_text(PARTS.replace("sum(1)), {}", "sum(1)).sigmoid(), {}"))
    del sys.modules["myparts"]
    assert run("train --resume run --time-limit 1h --device cpu") == 2
    assert "decoder myparts:Summed must make logits, got numbers from 0." in capsys.readouterr().err


@pytest.mark.parametrize("decoder", [*DECODERS, DECODER])
def test_every_decoder_makes_frames_with_a_codec_of_ones_own(parts, decoder):
    chosen = OwnDecoderConfig(source=DECODER) if decoder == DECODER else DECODERS[decoder][0]()
    core = core_config("rims", modules=3, active=2, units=4)
    model = build(PredictorConfig(core=core, codec=CODEC, decoder=chosen), (3, 16, 24)).eval()
    assert roll_out(model, torch.rand(2, 4, 3, 16, 24), 5).prediction.shape == (2, 5, 3, 16, 24)


@pytest.mark.parametrize("core", CORES)
def test_every_core_reads_a_codec_of_ones_own(parts, core):
    model = build(PredictorConfig(core=core_config(core), codec=CODEC, stack=2), (1, 16, 24))
    assert model.encoder.features == (5 + 16 if core == "scoff" else 128)
    assert model(torch.rand(2, 3, 1, 16, 24)).logits.shape == (2, 3, 1, 16, 24)


def test_positions_of_a_map_are_told_as_the_codecs_settings_say(parts):
    how = {"channels": 5, "positions": "coord4"}
    core = core_config("rims", modules=3, active=2, units=4, reads="map")
    model = build(PredictorConfig(core=core, codec=OwnCodecConfig(source="myparts:Patches", settings=how)), (1, 16, 24))
    assert (model.encoder.map_shape, model.encoder.features) == ((2, 3), 5 + 4)


def test_building_one_draws_what_its_layers_draw_and_no_more(parts):
    """They are tried when it is built, too."""
    torch.manual_seed(4)
    layers = build(PredictorConfig(core=core_config("gru", units=3), codec=CODEC), (1, 16, 24)).encoder.layers
    torch.manual_seed(4)
    first, second = nn.Conv2d(1, 5, 8, stride=8), nn.Linear(5 * 2 * 3, 128)
    assert torch.equal(layers[0].weight, first.weight)
    assert torch.equal(layers[3].weight, second.weight)


def test_a_decoder_may_take_any_keywords(place):
    seen(place, "decoder", ("*, trace=False", "**words"))


def test_what_a_decoder_traces_is_told_with_clips_and_steps(place):
    traced = "{'sums': outputs.sum(1)} if trace else {}  #"
    named = 'trace_axes = {"sums": "D"}\n\n    def __init__(self'
    model = seen(place, "decoder", ("def __init__(self", named), ("{}  #", traced))
    found = model(torch.rand(2, 5, 3, 16, 24), trace=True).trace
    assert found["sums"].shape == (2, 5, 4)
    torch.testing.assert_close(found["sums"], found["states"].sum(2))


@pytest.mark.parametrize("kind", ["nn.Sequential(*", "tuple(", "iter("])
def test_a_codec_may_list_its_layers_in_any_way(place, kind):
    layers = "[nn.Conv2d(self.colors, self.shrunk_shape[0], 8, stride=8), nn.ReLU()]"
    seen(place, "codec", (f"return {layers}", f"return {kind}{layers})"))


@pytest.mark.parametrize("slots", ["", '    __slots__ = ("colors", "shrunk_shape", "start_shape", "embedding")\n'])
def test_a_codec_may_refuse_what_its_class_does_not_set(place, slots):
    """As a frozen dataclass does."""
    words = f"{slots}\n    def __setattr__(self, name, value):\n        if name in ('shrink', 'grow'):\n"
    words += "            raise AttributeError(name)\n        object.__setattr__(self, name, value)\n\n"
    model = seen(place, "codec", ("    settings = PatchSettings", f"{words}    settings = PatchSettings"))
    assert len(model.encoder.layers) > 2


def test_a_decoder_may_call_a_codec_by_keywords_and_keep_it(place):
    kept = ("super().__init__()\n", "super().__init__()\n        self.codec = codec\n")
    named = ("codec.grow(film_shape[0])", "codec.grow(outputs=film_shape[0])")
    model = seen(place, "decoder", ("codec.expand(core.units)", "codec.expand(features=core.units)"), named, kept)
    assert len(copy.deepcopy(model).decoder.codec.shrink()) == 2


def test_a_decoder_may_use_what_else_its_codec_has(place):
    seen(place, "decoder", ("codec.grow(film_shape[0])", "codec.grow(codec.colors)"))


def test_logits_that_begin_as_a_constant_and_a_little_noise_are_no_probabilities(place):
    begin = "nn.init.normal_(self.layers[-1].weight, std=1e-3)\n        nn.init.constant_(self.layers[-1].bias, 0.5)"
    seen(place, "decoder", ("    def forward", f"        {begin}\n\n    def forward"))


def test_a_decoder_may_fit_what_its_core_keeps_above_0(place):
    """Other numbers, with which it is tried, make NaN of its logarithm."""
    seen(place, "decoder", ("outputs.sum(1)", "outputs.log().sum(1)"))


def test_frozen_layers_may_be_shared(place):
    """Such as those of a trunk that was trained elsewhere."""
    kept = "KEPT = nn.Conv2d(3, 5, 8, stride=8).requires_grad_(False)"
    model = seen(place, "codec", ("[nn.Conv2d", "[KEPT] + 0 * [nn.Conv2d"), before=kept)
    assert not model.encoder.layers[0].weight.requires_grad


def test_what_a_decoder_says_of_itself_may_be_properties(place):
    words = "    pictures = property(lambda self: 2)\n    trace_axes = property(lambda self: {})\n"
    seen(place, "decoder", ("    def __init__(", f"{words}\n    def __init__("))


def test_parts_without_settings_and_a_decoder_with_some(place):
    settings = "class Sized(DecoderSettings):\n    width: int = 6\n\n\nclass Summed"
    text = PARTS.replace("    settings = PatchSettings", "    #").replace(
        "(self, settings, film_shape)", "(self, film_shape)"
    )
    text = text.replace("settings.channels", "5").replace(
        "import CodecSettings", "import CodecSettings, DecoderSettings"
    )
    text = text.replace("class Summed", settings).replace("(self, codec, core", "(self, settings, codec, core")
    text = text.replace("        self.layers =", "        assert settings.width == 7\n        self.layers =")
    (place / "myparts.py").write_text(
        text.replace("    def __init__(self, settings", "    settings = Sized\n\n    def __init__(self, settings")
    )
    codec, decoder = OwnCodecConfig(source="myparts:Patches"), OwnDecoderConfig(source=DECODER, settings={"width": 7})
    core = core_config("rims", modules=3, active=2, units=4, reads="map")
    model = build(PredictorConfig(core=core, codec=codec, decoder=decoder), (3, 16, 24))
    assert model.encoder.features == 5 + 16
    with pytest.raises(ValueError, match=r"^codec myparts:Patches must be given settings that it has, positions, "):
        build(PredictorConfig(core=core, codec=codec.changed(channels=3)), (3, 16, 24))


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize(
    "layer", ["nn.utils.weight_norm(nn.Linear(math.prod(self.shrunk_shape), 128))", "nn.LazyLinear(128)"]
)
def test_modules_that_cannot_be_copied_or_are_not_drawn_yet_are_trained(parts, layer):
    old = "nn.Linear(math.prod(self.shrunk_shape), self.embedding)"
    (parts / "myparts.py").write_text(PARTS.replace(old, layer))
    data = tiny_data(parts)
    assert run(f"train {data} --codec myparts:Patches {SMALL} {LEARNING} --out run") == 0
    assert load_run(parts / "run").encoder.features == 128


def test_a_codec_is_tried_as_encoder_and_decoder_use_it(place):
    """Here it wants two stacked frames on the way in, and three colors and a mask on the way back."""
    text = PARTS.replace("[nn.Conv2d", "[nn.Unflatten(1, (2, self.colors // 2)), nn.Flatten(1, 2), nn.Conv2d")
    (place / "myparts.py").write_text(text.replace("return [nn.ConvT", "assert outputs == 4\n        return [nn.ConvT"))
    core = core_config("rims", modules=3, active=2, units=4)
    model = build(PredictorConfig(core=core, codec=CODEC, decoder=MasksConfig(), stack=2), (3, 16, 24))
    try_out(model)
    assert all(part.training for part in model.modules())


def test_layers_that_nothing_uses_are_not_tried(place):
    """Vectors, where a core reads a map and its decoder begins with one."""
    (place / "myparts.py").write_text(re.sub(r"return (?=\[nn\.(Flatten|Linear\(f))", "return 1 / 0 or ", PARTS))
    core = core_config("rims", modules=3, active=2, units=4, reads="map")
    model = build(PredictorConfig(core=core, codec=CODEC, decoder=MasksConfig()), (3, 16, 24))
    try_out(model)
    assert model.encoder.map_shape == (2, 3)


def test_a_decoder_may_ask_its_codec_for_other_layers_than_ours_do(place):
    (place / "myparts.py").write_text(
        PARTS.replace("return [nn.Linear(f", "assert features == 4\n        return [nn.Linear(f")
    )
    core = core_config("rims", modules=3, active=2, units=4)
    try_out(build(PredictorConfig(core=core, codec=CODEC, decoder=OwnDecoderConfig(source=DECODER)), (3, 16, 24)))


def test_a_trial_is_in_the_precision_of_the_weights_and_leaves_torchs_stream_alone(place):
    model = seen(place, "decoder")
    torch.manual_seed(7)
    before = torch.get_rng_state()
    with torch.autocast("cpu", torch.bfloat16):
        try_out(model)
    assert torch.equal(torch.get_rng_state(), before)


def test_ours_may_be_varied(place):
    (place / "variants.py").write_text("""
from torch import nn

from videopred.models.codec_settings import MasksConfig, RNEMConfig
from videopred.models.decoder import MasksDecoder
from videopred.models.rnem import RNEM


class Tanh(RNEM):
    settings = RNEMConfig

    def shrink(self):
        return [*super().shrink(), nn.Tanh()]


class Same(MasksDecoder):
    settings = MasksConfig
""")
    codec = OwnCodecConfig(source="variants:Tanh", settings={"channels": [3, 5], "positions": "coord4"})
    core = core_config("rims", modules=3, active=2, units=4, reads="map")
    model = build(
        PredictorConfig(core=core, codec=codec, decoder=OwnDecoderConfig(source="variants:Same")), (1, 16, 24)
    )
    assert (model.encoder.features, model.encoder.map_shape) == (5 + 4, (4, 6))
    assert model(torch.rand(2, 5, 1, 16, 24), trace=True).trace["masks"].shape == (2, 5, 3, 16, 24)
    with pytest.raises(
        ValueError, match="settings that it has, positions, position_op, position_width, channels, embedd"
    ):
        build(PredictorConfig(codec=codec.changed(depth=3)), (1, 16, 24))


def test_layers_that_begin_with_zeros_may_be_logits(place):
    zeros = "nn.init.zeros_(self.layers[-1].weight)\n        nn.init.zeros_(self.layers[-1].bias)"
    model = seen(place, "decoder", ("    def forward", f"        {zeros}\n\n    def forward"))
    assert model(torch.rand(2, 3, 3, 16, 24)).logits.count_nonzero() == 0


def test_a_decoder_may_have_weights_that_the_loss_does_not_need(parts):
    """Such as those of what it only traces."""
    spare = "super().__init__()\n        self.spare = nn.Linear(5, 3)"
    at = PARTS.index("class Summed")
    (parts / "myparts.py").write_text(PARTS[:at] + PARTS[at:].replace("super().__init__()", spare))
    assert run(f"train {tiny_data(parts)} --decoder {DECODER} {SMALL} --codec.channels 2 3 {LEARNING} --out run") == 0
    assert load_run(parts / "run").decoder.spare.in_features == 5


def test_a_tiny_experiment_of_a_file_keeps_a_codec_of_ones_own(parts):
    assert run("train rims-balls4 --codec myparts:Patches --codec.channels 6 --write mine.json") == 0
    assert run("train mine.json --scale tiny --write tiny.json") == 0
    codec = read_experiment(parts / "tiny.json").model.codec
    assert (codec.source, codec.settings["channels"]) == ("myparts:Patches", 6)


def test_a_codecs_own_embedding_is_for_it_to_use(parts):
    """Ours make no vector beside a map and masks."""
    (parts / "myparts.py").write_text(
        PARTS.replace("    channels: int", '    embedding: int = 7\n    """Width within."""\n    channels: int')
    )
    how = "--core.reads map --codec myparts:Patches --codec.embedding 5 --decoder masks"
    assert run(f"train {tiny_data(parts)} {how} {SMALL} {LEARNING} --out run") == 0
    assert load_run(parts / "run").config.codec.settings["embedding"] == 5


def test_a_norm_is_not_moved_by_the_film_on_which_a_model_is_tried(parts):
    (parts / "myparts.py").write_text(
        PARTS.replace("self.embedding), nn.ReLU()", "self.embedding), nn.BatchNorm1d(128)")
    )
    data = tiny_data(parts)
    assert run(f"train {data} --codec myparts:Patches {SMALL} {LEARNING} --precision 64-true --out run") == 0
    weights = load_run(parts / "run").state_dict()
    assert weights["encoder.layers.4.num_batches_tracked"] == 2
