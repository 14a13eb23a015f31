"""LPIPS: the library's own numbers, from weights that are in a file and are the right ones, or none."""

from pathlib import Path

import lpips
import pytest
import torch
from slow_proofs import slow
from torch import nn
from torchvision.models import WeightsEnum, squeezenet
from trunks import MODELS, stand_in

from videopred.eval import make_metric, perceptual
from videopred.eval.perceptual import TRUNKS
from videopred.eval.settings import LPIPSConfig


def films(channels: int = 3, height: int = 33, width: int = 38) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.rand(2, 3, channels, height, width), torch.rand(2, 3, channels, height, width)


@pytest.fixture
def named(monkeypatch):
    """Takes a file for the one that torchvision publishes."""

    def take(net, path):
        monkeypatch.setitem(TRUNKS, net, TRUNKS[net]._replace(file=path.name))
        return LPIPSConfig(net=net, weights=path)

    return take


def test_it_is_what_the_library_gives_that_loads_its_trunk_itself(tmp_path, monkeypatch, named):
    """lpips takes the file from torch's cache under torchvision's name, without a look at its hash.

    Ours has hyphens before its hash as well, as the one of AlexNet.
    """
    path = stand_in("squeeze", tmp_path, whole=True)
    path = path.rename(tmp_path / f"by-hand-{path.name}")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    published = squeezenet.SqueezeNet1_1_Weights.DEFAULT.url.rpartition("/")[2]
    assert TRUNKS["squeeze"].file == published
    (tmp_path / "hub" / "checkpoints" / published).write_bytes(path.read_bytes())
    with pytest.warns(UserWarning, match="pretrained"):
        theirs = lpips.LPIPS(net="squeeze", verbose=False)

    prediction, truth = films()
    metric = make_metric("lpips", named("squeeze", path))
    assert "squeeze trunk" in metric.convention
    ours = metric.measure(prediction, truth)["lpips"]
    with torch.no_grad():
        expected = theirs(prediction.flatten(0, 1), truth.flatten(0, 1), normalize=True).view(2, 3)
    torch.testing.assert_close(ours, expected.double(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("net", ["alex", *slow("vgg")])
def test_every_convolution_of_the_trunk_gets_its_weights(tmp_path, named, net):
    """Layers are matched here by their order, not by their names."""
    path = stand_in(net, tmp_path)
    made = make_metric("lpips", named(net, path))._net
    with torch.random.fork_rng():
        torch.manual_seed(3)
        theirs = MODELS[net]().features
    pairs = list(zip(convolutions(made.net), convolutions(theirs), strict=True))
    assert len(pairs) >= 5
    assert all(torch.equal(ours.weight, true.weight) and torch.equal(ours.bias, true.bias) for ours, true in pairs)


def convolutions(module: nn.Module) -> list[nn.Conv2d]:
    return [layer for layer in module.modules() if isinstance(layer, nn.Conv2d)]


def test_its_settings_survive_json():
    config = LPIPSConfig(net="vgg", weights=Path("my/vgg.pth"))
    assert LPIPSConfig.model_validate_json(config.model_dump_json()) == config


def test_an_unknown_trunk_is_refused():
    with pytest.raises(ValueError, match=r"--net must be 'alex', 'vgg' or 'squeeze', got 'vgg16'"):
        LPIPSConfig(net="vgg16")


def test_grey_frames_are_three_equal_channels():
    prediction, truth = films(channels=1)
    metric = make_metric("lpips")
    grey = metric.measure(prediction, truth)["lpips"]
    torch.testing.assert_close(
        grey, metric.measure(*(f.expand(-1, -1, 3, -1, -1) for f in (prediction, truth)))["lpips"]
    )


def test_making_it_draws_nothing_from_the_global_stream():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    make_metric("lpips")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_without_a_file_it_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        make_metric("lpips", LPIPSConfig(net="vgg"))
    message = str(caught.value)
    path = tmp_path / "hub" / "checkpoints" / "vgg16-397923af.pth"
    assert message.startswith(
        "lpips must have the weights of its trunk, vgg16-397923af.pth as torchvision publishes it"
    )
    assert f"got nothing at {path}; run, where there is internet, `python -c " in message
    assert message.endswith("; `videopred evaluate` also takes --metric-settings lpips.weights=FILE"), "others do not"


@pytest.mark.parametrize(
    ("net", "file"),
    [("alex", "alexnet-owt-7be5be79.pth"), ("vgg", "vgg16-397923af.pth"), ("squeeze", "squeezenet1_1-b8a52dc0.pth")],
)
def test_the_program_it_tells_to_run_fetches_that_file(net, file, monkeypatch):
    """Run up to the fetching, which tells what it was asked for."""
    asked = []
    monkeypatch.setattr(WeightsEnum, "get_state_dict", lambda self, *_, **__: asked.append(self.url) or {})
    monkeypatch.setattr(nn.Module, "load_state_dict", lambda *_, **__: None)
    with torch.device("meta"):
        exec(TRUNKS[net].program.split('"')[1], {})
    assert [url.rpartition("/")[2] for url in asked] == [file]
    assert net == "alex" or TRUNKS[net].file == file  # that of alex is a stand-in here


def test_another_file_is_refused(tmp_path):
    wrong = tmp_path / "weights.pth"
    torch.save(MODELS["squeeze"]().state_dict(), wrong)
    message = (
        r"weights.pth must be squeezenet1_1-b8a52dc0.pth as torchvision .* SHA-256 begins with b8a52dc0, got \w{8};"
    )
    with pytest.raises(ValueError, match=message):
        make_metric("lpips", LPIPSConfig(net="squeeze", weights=wrong))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 31, 40), "frames must be at least 32 x 32 px, got 31 x 40; score larger frames, or leave lpips out"),
        ((3, 40, 31), "frames must be at least 32 x 32 px, got 40 x 31"),
        ((2, 33, 38), "frames must have 1 or 3 channels for lpips, got 2"),
    ],
)
def test_frames_that_it_cannot_take(shape, message):
    with pytest.raises(ValueError, match=message):
        make_metric("lpips").measure(*films(*shape))


def test_the_smallest_frames_suit_every_trunk():
    """VGG's four poolings take 16 px already."""
    for net in ("alex", "squeeze"):
        with pytest.warns(UserWarning, match="pretrained"):
            network = lpips.LPIPS(net=net, pnet_rand=True, verbose=False)
        assert network(*torch.rand(2, 1, 3, perceptual.SMALLEST, perceptual.SMALLEST)).numel() == 1


def test_films_are_measured_in_single_precision():
    metric, (prediction, truth) = make_metric("lpips"), films()
    single = metric.measure(prediction, truth)["lpips"]
    torch.testing.assert_close(metric.measure(prediction.double(), truth.double())["lpips"], single)
