"""`videopred.render`: what it draws is what the command draws, and what cannot be drawn is refused."""

from pathlib import Path

import pytest
import torch
from tiny_runs import tiny_data, tiny_model, tiny_training

import videopred
from videopred import ClipChoice, Intervention, PictureConfig, cli


@pytest.mark.parametrize(
    ("change", "kind", "complaint"),
    [
        ({}, FileExistsError, r"--out must be a new path, got seen/test-1\.gif \(already there\)"),
        ({"clips": (2, 2)}, ValueError, "--clips must name each once, got 2 twice; leave"),
        ({"clips": (7,)}, ValueError, "--clips must lie in 0 to 4, the clips of the part, got 7"),
        ({"clips": ()}, ValueError, "--clips must name at least one, got none"),
        ({"clips": (2, 0, 2)}, ValueError, "--clips must name each once, got 2 twice"),
        ({"part": "tset"}, ValueError, "did you mean test"),
        (
            {"clips": (0,), "picture": PictureConfig(rows="truth,modules")},
            ValueError,
            "--rows must be among truth",
        ),
        ({"clips": (0,), "picture": PictureConfig(figure="schemata")}, ValueError, "--figure must be among strip for "),
        ({"out": "seen/a.png"}, ValueError, "--out must be a folder for several clips, got seen/a.png"),
        ({"clips": ClipChoice(best=6)}, ValueError, "--best must be at most 5, the clips that have a score"),
        ({"clips": (0,), "intervention": Intervention(without=(0,))}, ValueError, "RUN must have modules to silence"),
        ({"clips": (0,), "horizon": 9}, ValueError, "horizon"),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, monkeypatch, change, kind, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen" / "test-1.gif").touch()
    file = videopred.open_dataset(tiny_data(tmp_path))
    predictor = videopred.build(tiny_model(), (1, 24, 32))
    with pytest.raises(kind, match=complaint):
        videopred.render(predictor, file, **({"out": "seen"} | change))
    assert [path.name for path in (tmp_path / "seen").iterdir()] == ["test-1.gif"]


@pytest.mark.slow
def test_python_draws_what_the_command_draws(tmp_path, monkeypatch):
    """Rows, formats, the choice of clips, figures and interventions, to the byte."""
    monkeypatch.chdir(tmp_path)
    data = tiny_data(tmp_path / "two.h5")
    run = videopred.train(data, tiny_model("rims"), tiny_training(), out="run", device="cpu")
    file, predictor = videopred.open_dataset(data), videopred.load_run(run, "cpu")
    picture, figure = PictureConfig(rows="truth,modules,changed", format=("png",)), PictureConfig(figure="mask-out")
    for words, asked in {
        "--worst 2 --by psnr --first 4": {"clips": ClipChoice(worst=2, by="psnr", first=4)},
        "--best 1": {"clips": ClipChoice(best=1)},
        "--random 2 --seed 5 --figure activation": {
            "clips": ClipChoice(random=2, seed=5),
            "picture": PictureConfig(figure="activation"),
        },
        "--clips 0 3 --figure mask-out": {"clips": (0, 3), "picture": figure},
        "--clips 4 --rows truth,modules,changed --format png --without 1 --freeze 0 --from-step 2": {
            "clips": (4,),
            "picture": picture,
            "intervention": Intervention(without=(1,), freeze=(0,), from_step=2),
        },
    }.items():
        ours = videopred.render(predictor, file, context=3, horizon=5, out="ours", overwrite=True, **asked)
        cli.run(f"render run {data} --context 3 --horizon 5 --out theirs --overwrite --device cpu {words}".split())
        for path in ours:
            assert path.read_bytes() == (Path("theirs") / path.name).read_bytes(), words
    ours, theirs = ({path.name for path in Path(folder).iterdir()} for folder in ("ours", "theirs"))
    assert ours == theirs


def test_the_clips_that_are_drawn_are_those_asked_for(tmp_path):
    """The strip of a clip is the same whichever clips are drawn beside it."""
    file = videopred.open_dataset(tiny_data(tmp_path))
    predictor = videopred.build(tiny_model(), (1, 24, 32))
    videopred.render(predictor, file, clips=[4, 1], context=3, horizon=4, out=tmp_path / "both")
    alone = videopred.render(predictor, file, clips=[1], context=3, horizon=4, out=tmp_path / "alone")
    for path in alone:
        assert path.read_bytes() == (tmp_path / "both" / path.name).read_bytes()
    assert (tmp_path / "both/test-4.png").read_bytes() != alone[1].read_bytes()


def test_functions_are_drawn_as_models_are(tmp_path):
    file = videopred.open_dataset(tiny_data(tmp_path))
    predictor = videopred.build(tiny_model(), (1, 24, 32))

    def own(context, horizon):
        return videopred.roll_out(predictor, context, horizon).prediction

    def keeps_last(context, horizon):
        last = context[:, -1:].expand(-1, horizon, -1, -1, -1).clone()
        context.zero_()  # of its own copy
        return last, last[:, :, 0].round().long()  # masks, which are not drawn

    how = {"clips": ClipChoice(worst=1), "picture": PictureConfig(rows="truth,pred"), "context": 3, "horizon": 4}
    (gif, png) = videopred.render(own, file, **how, out=tmp_path / "alone")
    (theirs, _) = videopred.render(predictor, file, **how, out=tmp_path / "model")
    assert gif.name == theirs.name
    compiled = torch.compile(predictor, backend="eager")
    both = {"own": own, "copy": keeps_last, "model": predictor, "compiled": compiled}
    paths = videopred.render(both, file, **how, out=tmp_path / "both")
    assert [path.name for path in paths] == [gif.name, png.name]


def test_what_is_called_in_another_way_is_no_function(tmp_path):
    file = videopred.open_dataset(tiny_data(tmp_path))
    predictor = videopred.build(tiny_model(), (1, 24, 32))
    for other in (predictor.core, type(predictor), 3):
        with pytest.raises(TypeError, match="predictor must be a model, got "):
            videopred.render(other, file, clips=(1,), context=3, horizon=4, out=tmp_path / "seen")
    how = {"clips": (1,), "context": 3, "horizon": 4, "out": tmp_path / "seen"}
    with pytest.raises(ValueError, match="--without must come with a model, got films of another origin; leave it out"):
        videopred.render(lambda film, steps: film, file, intervention=Intervention(without=(0,)), **how)


@pytest.mark.parametrize(
    ("made", "kind", "complaint"),
    [
        (lambda film: film.numpy(), TypeError, "prediction of odd must be a tensor, got ndarray"),
        (lambda film: film[:, :3], ValueError, r"prediction of odd must have the truth's shape \(1, 4, 1, 24, 32\)"),
        (lambda film: film * 2 - 5, ValueError, r"prediction of odd must lie in \[0, 1\], got values from -5"),
        (lambda film: film > 0, TypeError, r"prediction of odd must be floating point in \[0, 1\], got torch.bool"),
    ],
)
def test_what_a_function_must_not_make_is_named(tmp_path, made, kind, complaint):
    file = videopred.open_dataset(tiny_data(tmp_path))
    odd = {"odd": lambda context, horizon: made(context.new_zeros(1, horizon, 1, 24, 32))}
    with pytest.raises(kind, match=complaint):
        videopred.render(odd, file, clips=(2,), context=3, horizon=4, out=tmp_path / "seen")
    assert not (tmp_path / "seen").exists()


def test_a_function_that_is_drawn_alone_has_no_name(tmp_path):
    file = videopred.open_dataset(tiny_data(tmp_path))
    with pytest.raises(TypeError, match=r"^prediction of the function must be a tensor, got list; make it one"):
        videopred.render(lambda context, horizon: [horizon], file, context=3, horizon=4, out=tmp_path / "seen")
