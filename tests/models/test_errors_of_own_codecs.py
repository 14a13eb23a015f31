"""Codecs and decoders from elsewhere that do not do what they must: each is named, with what to do."""

import re

import pytest
from command_line import run
from own_codecs import CODEC, DECODER, LEARNING, PARTS, SMALL, seen
from tiny_runs import tiny_data

from videopred import check
from videopred.models import build
from videopred.models.settings import PredictorConfig

LAYERS = """
import torch


class Twice(nn.Module):
    def forward(self, maps):
        return maps.double()


class InPlace(nn.Module):
    def forward(self, maps):
        return maps.sub_(0.5).mul_(2)


class Mixing(nn.Module):
    def forward(self, maps):
        return maps - maps[:1]


class Noisy(nn.Module):
    def forward(self, maps):
        return maps + torch.rand_like(maps)


class Remembering(nn.Module):
    last = 0

    def forward(self, maps):
        before, self.last = self.last, maps[:1]
        return maps + before


KEPT = nn.Conv2d(3, 5, 8, stride=8)
"""


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
            r"in shrink .* \(2, 3, 16, 24\) to \(2, 5, 2, 3\), got Runtime.*",
        ),
        ("self.shrunk_shape[0], 8", "7, 8", r"in shrink that lead .*, got \(2, 7, 2, 3\); see .*codec\.py"),
        ("shape), self.embedding", "shape), 9", r"in embed .* from \(2, 5, 2, 3\) to \(2, 128\), got \(2, 9\); see .*"),
        ("Linear(features", "Linear(8", r"in expand .* from \(2, 12\) to \(2, 5, 2, 3\), got RuntimeError: mat1 .*"),
        (
            "outputs, 8, s",
            "1, 8, s",
            r"in grow .* from \(2, 5, 2, 3\) to \(2, 3, 16, 24\), got \(2, 1, 16, 24\); .*",
        ),
        (
            "return [nn.ConvT",
            "return 3 and [len, nn.ConvT",
            r"must list torch modules in grow, got <built-in function len>; write e\.g\. nn\.ReLU\(\) ",
        ),
        (
            "8, stride=8), nn.ReLU",
            "8, stride=8), Twice",
            "in shrink that give torch.float32, .*, got torch.float64; .*",
        ),
        (
            "[nn.Conv2d",
            "[InPlace(), nn.Conv2d",
            "in shrink that leave what they are given as it is, got a change; b",
        ),
        ("[nn.Flatten", "[Mixing(), nn.Flatten", "in embed that take each frame by itself, got another result for"),
        (
            "[nn.Flatten",
            "[Noisy(), nn.Flatten",
            "in embed that take each frame by itself, .* and draw nothing th",
        ),
        (
            "[nn.Linear(f",
            "[Remembering(), nn.Linear(f",
            "in expand that take each frame by itself, .* on self",
        ),
        (
            "[nn.Conv2d",
            "[KEPT] + 0 * [nn.Conv2d",
            "must list new layers in shrink each time, got the same weigh",
        ),
        (
            "[nn.ConvTranspose2d(self.start_shape[0], outputs, 8, stride=8)]",
            "nn.ConvTranspose2d(self.start_shape[0], outputs, 8, stride=8)",
            "must list torch modules in grow, got ConvTranspose2d; put brackets around a single one",
        ),
        (
            "8, stride=8)]",
            "8, stride=8), nn.Sigmoid()]",
            "must make logits, got numbers from 0 to 1 alone; leave th",
        ),
    ],
)
def test_what_is_no_codec_is_named(place, old, new, message):
    with pytest.raises((ValueError, TypeError, check.FailedError), match=message) as caught:
        seen(place, "codec", (old, new), before=LAYERS)
    assert re.match("codec myparts:Patches(:| must) |invalid", str(caught.value))


@pytest.mark.parametrize(
    ("built", "painted", "message"),
    [
        (
            "self.more = [nn.Conv2d(3, 3, 1)]",
            "self.more[0]",
            "give the same once its saved weights are loaded, got",
        ),
        (
            "self.more = None",
            "self.made()",
            r"have all its weights from __init__ on, got decoder\.more\.bias",
        ),
    ],
)
def test_layers_that_are_not_saved_are_told(place, built, painted, message):
    made = "    def made(self):\n        self.more = self.more or nn.Conv2d(3, 3, 1)\n        return self.more\n\n"
    changes = [("super().__init__()", f"super().__init__(); {built}"), ("self.layers(o", f"{painted}(self.layers(o")]
    changes += [("sum(1)),", "sum(1))),"), ("    def forward", f"{made}    def forward")]
    with pytest.raises(ValueError, match=f"codec myparts:Patches, decoder myparts:Summed must {message}"):
        seen(place, "decoder", *changes)


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
            r"must return logits .*, here \(4, 3, 16, 24\), got \(4, 3, 15, 24\);.*",
        ),
        ("return self", "return 3, {}\n        return self", "must return logits .*, got int; see .*decoder.py"),
        (
            "sum(1)),",
            "sum(1)).sigmoid(),",
            r"must make logits, got numbers from 0 to 1 alone; leave .*",
        ),
        (
            "sum(1)),",
            "sum(1)).relu(),",
            r"must make logits, got numbers from 0 to [\de+.]+ alone; leave the activation .*",
        ),
        (
            "sum(1)),",
            "sum(1)).detach(),",
            "must make logits that depend on what it is given, got others, from which .*",
        ),
        ("outputs.sum(1)", "0 * outputs.sum(1).detach()", "must make logits that depend on what it is given, .*"),
        ("outputs.sum(1)", "outputs.sum(1).cumsum(0)", "must take each frame by itself, got another result .*"),
        ("sum(1)),", "sum(1)).cumsum(0) * 1e-6,", "must take each frame by itself, got another result .*"),
        ("outputs.sum", "outputs.sub_(1).sum", "must leave what it is given as it is, got a change; copy it .*"),
        ("outputs.sum", "(outputs - outputs.mean(0)).sum", "must take each frame by itself, got another result .*"),
        ("sum(1)),", "sum(1)).squeeze(0),", r"must return logits .*, here \(1, 3, 16, 24\), got \(3, 16, 24\); .*"),
    ],
)
def test_what_is_no_decoder_is_named(place, old, new, message):
    with pytest.raises((ValueError, TypeError, check.FailedError), match=f"^decoder (myparts:)?Sum.*{message}$"):
        seen(place, "decoder", (old, new))


@pytest.mark.parametrize(
    ("axes", "what", "message"),
    [
        ("'masks': 'K H W'", "{}", r"must trace what its trace_axes name, masks \(N, K, H, W\), got nothing; see .*"),
        ("'masks': 'K H W'", "{'masks': [1]}", "must trace what .*, got masks list; see .*"),
        ("'masks': 'K H W'", "{'masks': outputs}", r"must trace what .*, got masks \(2, 3, 4\); see .*"),
        (
            "'masks': 'K H W'",
            "{'masks': ZEROS(5, 3, 16, 24)}",
            r"must trace what .*, got masks \(5, 3, 16, 24\);",
        ),
        ("'masks': 'K H W'", "{'mask': ZEROS(2, 3, 16, 24)}", r"must trace what .*, got mask \(2, 3, 16, 24\);"),
        (
            "'masks': 'K H W'",
            "{'masks': ZEROS(2, 3, 24, 16)}",
            r"must trace masks as \(2, 3, 16, 24\), got \(2, 3, 24, ",
        ),
        (
            "'masks': 'K H W'",
            "{'masks': ZEROS(2, 5, 16, 24)}",
            r"must trace masks as \(2, 3, 16, 24\), got \(2, 5, 16, ",
        ),
        (
            "'masks': 'K H W'",
            "{'masks': ZEROS(2, 3, 16, 24) + 1.5}",
            r"must trace masks in \[0, 1\], got 1\.5 to 1\.5; take",
        ),
        (
            "'masks': 'K H W'",
            "{'masks': ZEROS(2, 3, 16, 24) - 0.5}",
            r"must trace masks in \[0, 1\], got -0\.5 to -0\.5; take",
        ),
        ("'masks': 'K W H'", "{}", "must have the axes K H W for masks in trace_axes, got K W H; trace these"),
        (
            "'active': 'K'",
            "{}",
            "must have names of its own in trace_axes, got active, which a core traces; choose",
        ),
        (
            "'states': 'K D'",
            "{}",
            "must have names of its own in trace_axes, got states, which a core traces; choose",
        ),
        ("", "{'sums': outputs}", r"must trace what its trace_axes name, nothing, got sums \(2, 3, 4\); see .*"),
    ],
)
def test_a_trace_that_is_not_as_it_says_is_told(place, axes, what, message):
    named = f"trace_axes = {{{axes}}}\n\n    def __init__(self"
    traced = f"{{}} if not trace else {what.replace('ZEROS', 'outputs.new_zeros')}  #"
    with pytest.raises((ValueError, TypeError), match=f"^decoder (myparts:)?Summed {message}"):
        seen(place, "decoder", ("def __init__(self", named), ("{}  #", traced))


def test_logits_of_another_precision_are_told_before_anything_is_written(parts, capsys):
    (parts / "myparts.py").write_text(PARTS.replace("sum(1)), {}", "sum(1)).double(), {}"))
    data = tiny_data(parts)
    assert run(f"train {data} --decoder {DECODER} {SMALL} --codec.channels 2 3 {LEARNING} --out run") == 2
    err = capsys.readouterr().err
    assert (
        "decoder myparts:Summed must return logits of torch.float32, as its parameters are, got torch.float64; conv"
        in err
    )
    assert not (parts / "run").exists()


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
