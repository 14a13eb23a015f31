"""Codecs and decoders from elsewhere, by MODULE:CLASS: docs/adding.md, which shows both, and what they must be."""

import re
from pathlib import Path

import pytest
import torch
from command_line import run
from documents import blocks, commands
from tiny_runs import tiny_data
from torch import nn

from videopred import check
from videopred.checkpoint import load_run
from videopred.export import export_run
from videopred.models import CORES, DECODERS, build, core_config
from videopred.models.settings import OwnCodecConfig, OwnDecoderConfig, PredictorConfig
from videopred.rollout import roll_out

GUIDE = (Path(__file__).parents[2] / "docs" / "adding.md").read_text()
PARTS = blocks(GUIDE, "python")[0]
LEARNING = "--updates 2 --batch-size 4 --validate-every 1 --device cpu"
SMALL = "--core.modules 3 --core.active 2 --core.units 4"
CODEC, DECODER = OwnCodecConfig(source="myparts:Patches", settings={"channels": 5}), "myparts:Summed"


@pytest.fixture
def parts(place) -> Path:
    """A folder with the parts of the guide."""
    (place / "myparts.py").write_text(PARTS)
    return place


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


TWICE = "class Twice(nn.Module):\n    def forward(self, maps):\n        return maps.double()\n\n\n"


def seen(place: Path, part: str, old: str, new: str) -> None:
    """Build a model with the parts of the guide, of which one is changed, and let it see frames."""
    at = PARTS.index("class Summed")
    texts = {"codec": PARTS[:at], "decoder": PARTS[at:]}
    assert texts[part].count(old) == 1
    text = "".join((texts | {part: texts[part].replace(old, new)}).values())
    (place / "myparts.py").write_text(text.replace("class PatchS", f"{TWICE}class PatchS"))
    core = core_config("rims", modules=3, active=2, units=4)
    model = PredictorConfig(core=core, codec=CODEC, decoder=OwnDecoderConfig(source=DECODER))
    build(model, (3, 16, 24))(torch.rand(2, 3, 3, 16, 24))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class Patches", "class Patch", r"of that name; did you mean Patch\?"),
        ("class Patches", "class Tiles", r"of that name; its codecs are Tiles"),
        (
            "def grow",
            "def enlarge",
            r"must have a method grow, got none; give it one, as videopred\.models\.codec",
        ),
        (
            "= PatchSettings",
            "= nn.Linear",
            r"settings must be a class of settings, .*; derive it .*\.CodecSettings",
        ),
        ("self.shrunk_shape = ", "", "must have a shrunk_shape, a tuple of channels, .*, got None; set it in .*"),
        (
            "height // 8, width",
            "height / 8, width",
            r"must have a shrunk_shape, .*, got \(5, 2\.0, 3\); set it .*",
        ),
        ("self.start_shape = (", "(1,), self.start_shape = (", "must be importable, got SyntaxError: .*"),
        ("embedding = 128", "embedding = 0", "must have a whole number embedding, got 0; set it in __init__: .*"),
        ("embedding = 128", "embedding = width / 0", "must be built, got ZeroDivisionError: .*; mend its __init__, .*"),
        ("embedding = 128", "embedding = int('x')", "invalid literal .*"),
        (
            "self.colors, self.sh",
            "4, self.sh",
            r"in shrink .* \(1, 3, 16, 24\) to \(1, 5, 2, 3\), got Runtime.*",
        ),
        ("self.shrunk_shape[0], 8", "7, 8", r"in shrink that lead .*, got \(1, 7, 2, 3\); see .*codec\.py"),
        ("shape), self.embedding", "shape), 9", r"in embed .* from \(1, 5, 2, 3\) to \(1, 128\), got \(1, 9\); see .*"),
        ("Linear(features", "Linear(8", r"in expand .* from \(1, 7\) to \(1, 5, 2, 3\), got RuntimeError: mat1 .*"),
        (
            "outputs, 8, s",
            "1, 8, s",
            r"in grow .* from \(1, 5, 2, 3\) to \(1, 7, 16, 24\), got \(1, 1, 16, 24\); .*",
        ),
        ("return [nn.ConvT", "return 3 and [len, nn.ConvT", "in grow .*, got TypeError: .*len.*"),
        (
            "8, stride=8), nn.ReLU",
            "8, stride=8), Twice",
            "in shrink that give torch.float32, .*, got torch.float64; .*",
        ),
    ],
)
def test_what_is_no_codec_is_named(place, old, new, message):
    with pytest.raises((ValueError, TypeError, check.FailedError), match=message) as caught:
        seen(place, "codec", old, new)
    assert re.match("codec myparts:Patches(:| must) |invalid", str(caught.value))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("class Summed", "class Sum", r"of that name; did you mean Sum\?"),
        ("(nn.Module)", "", r"must be a torch module, got object; derive it from torch\.nn\.Module"),
        (
            ", *, trace=False",
            "",
            r"must take trace in forward, .* def forward\(self, outputs, \*, trace=False\)",
        ),
        (
            "super().__init__()",
            "super().__init__(); self.pictures = 0",
            "must have a whole number of pictures, got 0.*",
        ),
        (
            "super().__init__()",
            "super().__init__(); self.trace_axes = 3",
            "must have a dict of axes by name .* got 3.*",
        ),
        (
            "expand(core.units)",
            "expand()",
            "must be built, got TypeError: .*; mend its __init__, .* codec, core .*",
        ),
        (", {}  #", "  #", "must return logits and trace, got Tensor; see .*decoder.py"),
        ("{}  #", "{}, {}  #", "must return logits and trace, got 3 values; see .*decoder.py"),
        ("{}  #", "3  #", "must return a dict of tensors as its trace, got int; return {} for none"),
        (
            "sum(1)),",
            "sum(1))[:, :, 1:],",
            r"must return logits .*, here \(6, 3, 16, 24\), got \(6, 3, 15, 24\);.*",
        ),
        ("return self", "return 3, {}\n        return self", "must return logits .*, got int; see .*decoder.py"),
    ],
)
def test_what_is_no_decoder_is_named(place, old, new, message):
    with pytest.raises((ValueError, TypeError, check.FailedError), match=f"^decoder (myparts:)?Sum.*{message}$"):
        seen(place, "decoder", old, new)


def test_a_decoder_may_take_any_keywords_and_say_what_it_traces(place):
    seen(place, "decoder", "*, trace=False", "**words")
    seen(place, "decoder", "{}  #", "{'sums': outputs.sum(1)}  #")


@pytest.mark.parametrize("kind", ["nn.Sequential(*", "tuple(", "iter("])
def test_a_codec_may_list_its_layers_in_any_way(place, kind):
    seen(
        place,
        "codec",
        "return [nn.Conv2d(self.colors, self.shrunk_shape[0], 8, stride=8), nn.ReLU()]",
        f"return {kind}[nn.Conv2d(self.colors, self.shrunk_shape[0], 8, stride=8), nn.ReLU()])",
    )


def test_what_a_decoder_says_of_itself_may_be_properties(place):
    words = "    pictures = property(lambda self: 2)\n    trace_axes = property(lambda self: {})\n"
    seen(place, "decoder", "    def __init__(", f"{words}\n    def __init__(")


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


TRACED = PARTS.replace("sum(1)), {}", "sum(1)), (WHAT if trace else {})").replace(
    "    def __init__(self, codec", '    trace_axes = {"masks": "K H W"}\n\n    def __init__(self, codec'
)


@pytest.mark.parametrize(
    ("what", "got"),
    [
        ("{}", "nothing"),
        ("{'masks': [1]}", "masks list"),
        ("{'masks': outputs}", "masks (4, 3, 4)"),
        ("{'masks': outputs.new_zeros(3, 3, 24, 32)}", "masks (3, 3, 24, 32)"),
        ("{'mask': outputs.new_zeros(4, 3, 24, 32)}", "mask (4, 3, 24, 32)"),
    ],
)
def test_traces_without_their_axes_are_told_before_anything_is_written(parts, capsys, what, got):
    (parts / "myparts.py").write_text(TRACED.replace("WHAT", what))
    data = tiny_data(parts)
    assert run(f"train {data} --decoder {DECODER} {SMALL} --codec.channels 2 3 {LEARNING} --out run") == 2
    must = "decoder Summed must trace what its trace_axes name, with their axes behind N, here 4: {'masks': 'K H W'}"
    assert f"{must}, got {got}; see" in capsys.readouterr().err
    assert not (parts / "run").exists()


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


def test_a_codecs_own_embedding_is_for_it_to_use(parts):
    """Ours make no vector beside a map and masks."""
    (parts / "myparts.py").write_text(
        PARTS.replace("    channels: int", '    embedding: int = 7\n    """Width within."""\n    channels: int')
    )
    how = "--core.reads map --codec myparts:Patches --codec.embedding 5 --decoder masks"
    assert run(f"train {tiny_data(parts)} {how} {SMALL} {LEARNING} --out run") == 0
    assert load_run(parts / "run").config.codec.settings["embedding"] == 5


def test_logits_of_another_precision_are_told_before_anything_is_written(parts, capsys):
    (parts / "myparts.py").write_text(PARTS.replace("sum(1)), {}", "sum(1)).double(), {}"))
    data = tiny_data(parts)
    assert run(f"train {data} --decoder {DECODER} {SMALL} --codec.channels 2 3 {LEARNING} --out run") == 2
    err = capsys.readouterr().err
    assert "decoder Summed must return logits of torch.float32, as its parameters are, got torch.float64; conv" in err
    assert not (parts / "run").exists()


def test_a_norm_is_not_moved_by_the_film_on_which_a_model_is_tried(parts):
    (parts / "myparts.py").write_text(
        PARTS.replace("self.embedding), nn.ReLU()", "self.embedding), nn.BatchNorm1d(128)")
    )
    data = tiny_data(parts)
    assert run(f"train {data} --codec myparts:Patches {SMALL} {LEARNING} --precision 64-true --out run") == 0
    weights = load_run(parts / "run").state_dict()
    assert weights["encoder.layers.4.num_batches_tracked"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--codec myparts", "--codec must be one of rnem, mila, MODULE:CLASS, got myparts; choose"),
        (
            "--codec myparts:",
            "--codec must be MODULE:CLASS, got myparts:; write e.g. mycodecs:MyCodec for a class",
        ),
        (
            "--decoder a:b:c",
            "--decoder must be MODULE:CLASS, got a:b:c; write e.g. mydecoders:MyDecoder for a class",
        ),
        (
            "--codec nowhere:Patches",
            "codec nowhere:Patches must be importable, got ModuleNotFoundError: No module",
        ),
        (
            "--codec myparts:Patches --codec.embedding 3",
            "--codec.embedding must be a setting of myparts:Patches, g",
        ),
        (
            "--codec myparts:Patches --codec.positions coord4",
            "--codec.positions must come with a core that reads a m",
        ),
        ("--codec myparts:Patches --codec.chanels 3", "did you mean --codec.channels?"),
    ],
)
def test_words_that_fit_no_part_are_told(parts, capsys, words, message):
    assert run(f"train {tiny_data(parts)} {words} {LEARNING}") == 2
    assert message in capsys.readouterr().err


def test_a_setting_that_a_run_has_and_its_class_no_more_is_told(parts):
    with pytest.raises(
        ValueError, match=r"^codec myparts:Patches must be given settings that it has, .*, got depth; l"
    ):
        build(PredictorConfig(codec=CODEC.changed(depth=3)), (1, 16, 24))
