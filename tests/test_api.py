"""The public names: each is there, annotated, in docs/api.md with its arguments, and used by a program there."""

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import torch
from documents import blocks, made_small
from tiny_runs import tiny_data, tiny_model, tiny_training

import videopred
from videopred.commands.terminal import first_line
from videopred.datasets.clip_source import ClipSource
from videopred.eval.settings import Protocol
from videopred.judging import judge
from videopred.rollout import predict_next
from videopred.settings import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text()
CALLS = [name for name in videopred.__all__ if callable(getattr(videopred, name))]
SETTINGS = [name for name in CALLS if isinstance(getattr(videopred, name), type(Settings))]


def written(name: str) -> str:
    """A call as the page writes it: the names of its arguments; settings only by their own name."""
    thing, names = getattr(videopred, name), []
    if inspect.isclass(thing) and issubclass(thing, Settings):
        return name
    for argument in inspect.signature(thing).parameters.values():
        if argument.kind is argument.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(f"**{argument.name}" if argument.kind is argument.VAR_KEYWORD else argument.name)
    return f"{name}({', '.join(names)})"


def hints(name: str) -> dict[str, typing.Any]:
    """Annotations of a function, or of what makes an object of a class, as they are written."""
    thing = getattr(videopred, name)
    return (thing.__init__ if inspect.isclass(thing) else thing).__annotations__


@pytest.mark.parametrize("name", CALLS)
def test_the_page_says_how_each_is_called_and_what_it_gives(name):
    assert f"| `{written(name)}` | {first_line(getattr(videopred, name))} |" in PAGE


def test_the_page_promises_these_names_and_no_others():
    rows = re.findall(r"^\| `(\w+)[`(]", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(videopred.__all__)


def test_the_package_says_its_version():
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"$', project, re.MULTILINE)[1] == videopred.__version__


@pytest.mark.slow
def test_its_programs_use_every_name_and_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(blocks(PAGE, "python"))
    assert set(re.findall(r"videopred\.(\w+)", program)) == set(videopred.__all__)
    exec(re.sub(r"(range\(|, 0, )40\)", r"\g<1>8)", made_small(program)), {})


@pytest.mark.slow
def test_its_programs_satisfy_a_type_checker(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text("\n".join(blocks(PAGE, "python")))
    words = ("--ignore-missing-imports", "--cache-dir", tmp_path / "cache", tmp_path / "program.py")
    done = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


@pytest.mark.parametrize("name", SETTINGS)
def test_help_says_what_each_setting_means(name):
    told = inspect.getdoc(getattr(videopred, name))
    for setting, field in getattr(videopred, name).model_fields.items():
        assert f"\n    {setting}: {field.description}" in told


def test_the_settings_of_each_part_of_a_model_are_made_by_name():
    codec = videopred.codec_config("rnem", embedding=7)
    decoder = videopred.decoder_config("files")
    model = videopred.PredictorConfig(core=videopred.core_config("scoff"), codec=codec, decoder=decoder)
    assert (model.codec.kind, model.codec.embedding, model.decoder.kind) == ("rnem", 7, "files")
    with pytest.raises(
        ValueError, match=r"^--codec must be one of rnem, mila, MODULE:CLASS, got rnm; did you mean rnem"
    ):
        videopred.codec_config("rnm")
    with pytest.raises(
        ValueError, match=r"^--decoder must be one of shared, files, masks, MODULE:CLASS, got mask; did"
    ):
        videopred.decoder_config("mask")
    with pytest.raises(
        TypeError, match=r"^codec must be a name, got 3; give one of rnem, mila, or MODULE:CLASS for you"
    ):
        videopred.codec_config(3)
    with pytest.raises(ValueError, match=r"^decoder nowhere:Nothing must be importable, got"):
        videopred.decoder_config("nowhere:Nothing")
    with pytest.raises(ValueError, match=r"^--core\.comm-heads must be left out with --core\.no-comm"):
        videopred.core_config("rims-balls", comm=False, comm_heads=3)
    with pytest.raises(TypeError, match=r"^core must be a name, got None; give one of gru, lstm, "):
        videopred.core_config(None)


def test_whoever_types_a_name_is_offered_what_is_there():
    offered = set(dir(videopred))
    assert {*videopred.__all__, "__version__", "datasets"} <= offered
    assert not {"Any", "TYPE_CHECKING", "import_module"} & offered
    assert {"Layer", "CORES", "build"} <= set(dir(videopred.models))


def test_what_holds_films_and_scores_is_shown_in_a_line(clips):
    """A notebook shows what a cell ends in."""
    film = videopred.to_film(clips.read_frames("test", 0, 2))
    model = videopred.build(tiny_model("rims"), clips.film_shape).eval()
    rollout = videopred.roll_out(model, film[:, :3], horizon=5, trace=True)
    shapes = "context (2, 3, 1, 24, 32), one_step (2, 2, 1, 24, 32), prediction (2, 5, 1, 24, 32)"
    assert repr(rollout) == f"<Rollout: {shapes}; trace of {', '.join(rollout.trace)}>"
    assert repr(model(film)) == f"<Prediction: logits (2, {film.shape[1]}, 1, 24, 32); trace of nothing>"
    scores = videopred.evaluate(model, clips, context=3, horizon=5, metrics=("mse", "mae"), first=2)
    told = f"{', '.join(scores.measurements)} by mse, mae: 3 + 5 frames of 2 clips of {clips.path}"
    assert repr(scores) == f"<Scores of {told}>"
    compared = videopred.compare({"a": scores, "b": scores}, relative_to="b")
    assert repr(compared) == f"<Comparison of {', '.join(compared.rows)} with b by mse, mae>"
    told = repr(clips.clip("test", 0))
    assert told.startswith("<Clip: frames (")
    for name, (count, *_) in {"objects/mass": (2,), "events": film.shape[1:]}.items():
        assert f", {name} ({count},)" in told


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> ClipSource:
    return videopred.open_dataset(tiny_data(tmp_path_factory.mktemp("kinds")))


NO_MODEL = "predictor must be a model, got models/a; give videopred.load_run('models/a')"
NO_CLIPS = "file must be clips that are open, got a.h5; give videopred.open_dataset('a.h5')"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _, clips: videopred.evaluate("models/a", clips), NO_MODEL),
        (lambda model, clips: videopred.evaluate({"b": model, "a": Path("models/a")}, clips), NO_MODEL),
        (lambda _, clips: videopred.imagine("models/a", clips, "test", [0], 3, 2), NO_MODEL),
        (lambda _, clips: videopred.render("models/a", clips, out="seen"), NO_MODEL),
        (lambda *_: videopred.roll_out("models/a", torch.zeros(1, 2, 1, 16, 24), 3), NO_MODEL),
        (lambda *_: predict_next("models/a", torch.zeros(1, 2, 1, 16, 24)), NO_MODEL),
        (lambda *_: videopred.intervene("models/a", videopred.Intervention(without=(1,)), 3), NO_MODEL),
        (
            lambda model, clips: videopred.evaluate([model, model], clips),
            "predictor must be a model, got list; give what videopred.load_run returns, or several in a dict; ",
        ),
        (
            lambda _, clips: videopred.evaluate(lambda context, horizon: context, clips),
            "predictor must be a model, got function; give what videopred.load_run returns, or several in a dict; "
            "videopred.judge scores functions",
        ),
        (
            lambda _, clips: videopred.evaluate(torch.nn.Conv2d(1, 1, 3), clips),
            "predictor must be a model, got Conv2d;",
        ),
        (
            lambda model, clips: videopred.evaluate({1: model, "b": model}, clips, context=3, horizon=2),
            "predictor must have text as names, got [1, 'b']; put quotes around them",
        ),
        (
            lambda _, clips: judge({(2, 3): lambda film, horizon: 1 / 0}, clips, Protocol(context=3, horizon=2)),
            "predict must have text as names, got [(2, 3)]; put",
        ),
        (
            lambda model, clips: videopred.render({1: model, 2: model}, clips, out="seen", context=3, horizon=2),
            "predictor must have text as names, got [1, 2]; put",
        ),
        (
            lambda model, clips: videopred.render([model], clips, out="seen"),
            "predictor must be a model, got list; give what videopred.load_run returns, or several in a dict",
        ),
        (
            lambda model, clips: videopred.render(torch.optim.swa_utils.AveragedModel(model), clips, out="seen"),
            "predictor must be a model, got AveragedModel; give what videopred.load_run returns",
        ),
        (
            lambda model, clips: videopred.evaluate(model, videopred.FilmDataset(clips, "test")),
            "file must be clips that are open, got FilmDataset; give what videopred.open_dataset returns",
        ),
        (
            lambda *_: videopred.compare("eval/a"),
            'scores must be a dict of scores by name, got str; write {"RIMs": …}, with what videopred.evaluate or',
        ),
        (
            lambda *_: videopred.compare({"a": "eval/a"}),
            "scores of a must be scores, got eval/a; give videopred.load_scores('eval/a')",
        ),
        (lambda *_: videopred.compare({"a": 0.3}), "scores of a must be scores, got float; write {"),
        (
            lambda model, clips: videopred.imagine(model, clips, "test", ["0"], 3, 2),
            "--clips must be numbers of clips, got '0'; count from 0",
        ),
        (
            lambda model, clips: videopred.imagine(model, clips, "test", [True, False], 3, 2),
            "--clips must be numbers of clips, got True; count from 0",
        ),
        (
            lambda model, clips: videopred.imagine(model, clips, "test", None, 3, 2),
            "--clips must be numbers of clips, got None; write e.g. (0, 1)",
        ),
        (
            lambda model, clips: videopred.evaluate(model, clips, metric_settings={"f1.threshold": 0.3}),
            "metric_settings must be texts in a list or tuple, got {'f1.threshold': 0.3}; write ('f1.threshold=0.4',)",
        ),
        (
            lambda _, clips: judge(lambda film, horizon: film, clips, Protocol(context=3, horizon=2), seeds=("a", "b")),
            "seeds must be a dict of rows by group, got ('a', 'b'); write {",
        ),
        (lambda *_: videopred.compare({1: 0.3}), "scores must be called by text, got 1; write {"),
        (
            lambda *_: videopred.compare({"a": 0.3}, names=[1]),
            "names must be a dict of rows and what they are",
        ),
        (
            lambda *_: videopred.load_scores(3),
            "SCORES must be a path, got 3, of class int; give it as text",
        ),
        (lambda model, _: videopred.evaluate(model, "a.h5"), NO_CLIPS),
        (lambda model, _: judge(model, "a.h5", Protocol(context=3, horizon=2)), NO_CLIPS),
        (lambda model, _: videopred.imagine(model, Path("a.h5"), "test", [0], 3, 2), NO_CLIPS),
        (lambda model, _: videopred.render(model, "a.h5", out="seen"), NO_CLIPS),
        (
            lambda model, clips: videopred.roll_out(model, clips.read_frames("test", 0, 1), 2),
            "context must be a tensor, got ndarray; make it with videopred.to_film",
        ),
        (lambda model, clips: model(clips.read_frames("test", 0, 1)), "film must be a tensor, got ndarray; make it"),
        (
            lambda model, clips: model(clips.read_frames("test", 0, 1) / 255),
            "film must be a tensor, got ndarray; give torch.from_numpy(…).float()",
        ),
        (
            lambda *_: videopred.build("rims", (1, 16, 24)),
            "config must be a PredictorConfig, got 'rims', of class str; make it with videopred.PredictorConfig(…)",
        ),
        (lambda *_: videopred.build(None, (1, 16, 24)), "config must be a PredictorConfig, got None, of class None"),
        (lambda model, _: videopred.intervene(model, None, 3), "intervention must be an Intervention, got None, of"),
        (
            lambda model, _: videopred.roll_out(model, torch.zeros(1, 2, 1, 16, 24), 2, feedback=None),
            "--feedback must be text, got None; give soft, threshold:0.5 or sample",
        ),
        (lambda *_: videopred.probe_places(None, None), "states must be an array, got NoneType; use NumPy's asarray"),
        (lambda *_: videopred.probe_places(np.zeros((2, 3, 4)), [[1]]), "places must be an array, got list; use"),
        (lambda _, clips: videopred.train(clips.path, "rims"), "model must be a PredictorConfig, got 'rims', of"),
        (lambda _, clips: videopred.train(clips.path, training={"updates": 2}), "training must be a TrainingConfig"),
        (
            lambda _, clips: videopred.train(clips.path, compute=2),
            "compute must be a ComputeConfig, got 2, of class int",
        ),
        (lambda _, clips: videopred.train(clips.path, watch=True), "watch must be a WatchConfig, got True, of"),
        (lambda *_: videopred.resume("models/a", training={"updates": 2}), "training must be a TrainingConfig"),
        (
            lambda model, clips: videopred.render(model, clips, out="seen", intervention={"without": (1,)}),
            "intervention must be an Intervention, got {'without': (1,)}, of class dict; make it with",
        ),
        (
            lambda model, clips: videopred.render(model, clips, out="seen", picture="gif"),
            "picture must be a PictureConf",
        ),
        (
            lambda model, _: videopred.intervene(model, "0", 3),
            "intervention must be an Intervention, got '0', of class",
        ),
        (
            lambda model, clips: videopred.plausibility(model, clips.path, 3),
            "config must be a PlausibilityConfig, got 3",
        ),
        (
            lambda model, clips: videopred.evaluate(model, clips, context=3, horizon=2, reference="a.h5"),
            "reference must be clips that are open, got a.h5; give videopred.open_dataset('a.h5')",
        ),
        (
            lambda model, clips: videopred.evaluate(model, clips, context=3, horizon=2, reference=3),
            "reference must be clips that are open, got int; give what videopred.open_dataset returns",
        ),
        (
            lambda model, clips: videopred.judge(
                lambda *_: None, clips, videopred.Protocol(context=3, horizon=2), reference="a.h5"
            ),
            "reference must be clips that are open, got a.h5; give videopred.open_dataset('a.h5')",
        ),
        (
            lambda *_: videopred.train(3),
            "DATA must be a path, got 3, of class int; give that of a file or folder of clips or of a recipe's JSON",
        ),
        (
            lambda _, clips: videopred.train(clips, tiny_model(), tiny_training(updates=1), out="run"),
            "DATA must be a path, got <ClipFile ",
        ),
        (lambda _, clips: videopred.train(clips.path, out=5), "--out must be a path, got 5, of class int; give it as"),
        (lambda _, clips: videopred.train(clips.path, init_from=5), "--init-from must be a path, got 5, of class"),
        (lambda *_: videopred.resume(None), "RUN must be a path, got None, of class NoneType; give it as text"),
        (lambda *_: videopred.load_run(b"models/a"), "RUN must be a path, got b'models/a', of class bytes; give it"),
        (lambda *_: videopred.open_dataset(3), "DATA must be a path, got 3, of class int; give it as text or as"),
        (lambda *_: videopred.import_films(3, "a.h5"), "SOURCE must be a path, got 3, of class int; give it as text"),
        (lambda *_: videopred.import_films("a.npy", 3), "--out must be a path, got 3, of class int; give it as text"),
        (lambda *_: videopred.generate("balls4", {"train": 2}, out=3), "--out must be a path, got 3, of class int;"),
        (lambda model, clips: videopred.render(model, clips, out=3), "--out must be a path, got 3, of class int;"),
        (lambda model, clips: videopred.plausibility(model, clips), "DATA must be a path, got <ClipFile "),
        (lambda *_: videopred.generate("balls4", 30), "--clips must say how many of which part, got 30; try --clips"),
        (
            lambda *_: videopred.generate("b", {"test": 1}, recipe="balls4"),
            "recipe must be settings of a world, got 'balls4', of class str; make one with videopred.find_recipe(…)",
        ),
        (lambda *_: videopred.generate(None, {"test": 1}), "PRESET must be a name, got None; write e.g. balls4"),
        (lambda *_: videopred.generate("sm-mnist", {"test": 1}, mnist=3), "--mnist must be a path, got 3, of class"),
        (lambda *_: videopred.open_recipe({"kind": "balls"}, {"test": 1}), "recipe must be settings of a world, got {"),
        (lambda *_: videopred.open_recipe("sm-mnist", {"test": 1}, mnist=3), "mnist must be a path, got 3, of class"),
        (lambda *_: videopred.import_films("a.npy", "a.h5", {"axes": "BTHW"}), "config must be an ImportConfig, got {"),
        (lambda _, clips: videopred.FilmDataset(clips, "test", dtype="float32"), "dtype must be torch.uint8 or floati"),
        (lambda *_: videopred.to_film([1]), "frames must be an array or a tensor, got [1], of class list; give what"),
        (
            lambda _, clips: videopred.to_film(clips.read_frames("test", 0, 1), "half"),
            "dtype must be floating, got 'h",
        ),
        (lambda *_: videopred.open_recipe("balls4", 30), "clips must say how many of which part, got 30; try"),
    ],
)
def test_what_is_of_another_kind_is_told_which_call_makes_the_right_one(call, message, clips, tmp_path, monkeypatch):
    """A path, as the commands take them, a name, a dict."""
    monkeypatch.chdir(tmp_path)
    model = videopred.build(tiny_model(), clips.film_shape)
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call(model, clips)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("device", [torch.device("cpu"), "cpu"])
def test_a_device_may_be_one_of_torch(device, clips, tmp_path):
    run = videopred.train(clips.path, tiny_model(), tiny_training(updates=1), out=tmp_path / "run", device=device)
    assert videopred.load_run(run, device).film_shape == clips.film_shape


def test_a_device_is_no_number(clips, tmp_path):
    with pytest.raises(ValueError, match=r"^--device must be one of auto, cpu, cuda, mps, got 0; "):
        videopred.train(clips.path, tiny_model(), tiny_training(), out=tmp_path / "run", device=0)


@pytest.mark.parametrize("name", CALLS)
def test_each_is_annotated_whole(name):
    thing = getattr(videopred, name)
    if inspect.isclass(thing) and issubclass(thing, Settings):
        assert thing.__annotations__
        return
    signature = inspect.signature(thing)
    bare = [one.name for one in signature.parameters.values() if one.annotation is one.empty]
    assert bare == []
    assert inspect.isclass(thing) or signature.return_annotation is not signature.empty


@pytest.mark.parametrize("name", CALLS)
def test_a_path_may_be_a_string(name):
    given = {argument: str(hint) for argument, hint in hints(name).items() if argument != "return"}
    paths = {argument: hint for argument, hint in given.items() if re.search(r"\bPath\b", hint)}
    assert [argument for argument, hint in paths.items() if "str" not in hint] == []


def test_paths_that_are_strings_are_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = str(tiny_data(tmp_path))
    run = str(videopred.train(data, tiny_model(), tiny_training(), out="run", device="cpu"))
    again = videopred.train(data, tiny_model(), tiny_training(updates=1), out="again", init_from=run, device="cpu")
    assert again == Path("again")
    predictor = videopred.load_run(run, "cpu")
    paths = videopred.render(predictor, videopred.open_dataset(data), out="seen")
    assert paths == [Path(f"seen/test-{clip}.{kind}") for clip in range(3) for kind in ("gif", "png")]
    assert all(path.stat().st_size > 0 for path in paths)
    assert videopred.generate("balls2", {"test": 1}, out="here.h5") == Path("here.h5")


def test_a_recipe_that_differs_from_a_preset_is_checked():
    recipe = videopred.find_recipe("balls678", height=24, balls=(2, 3))
    assert recipe.model_dump() == videopred.find_recipe("balls678").model_dump() | {"height": 24, "balls": (2, 3)}
    with pytest.raises(ValueError, match="did you mean balls678"):
        videopred.find_recipe("balls67")
    with pytest.raises(ValueError, match="heigth"):
        videopred.find_recipe("balls678", heigth=24)
    with pytest.raises(ValueError, match="height must"):
        videopred.find_recipe("balls678", height=2)


def test_importing_the_package_loads_nothing_heavy():
    program = "import sys, videopred; dir(videopred); videopred.__all__; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_name_that_is_not_there_is_said_to_be_none():
    with pytest.raises(AttributeError, match=r"no attribute .trian.; it has .*train"):
        _ = videopred.trian
