"""What is offered for values that are written as other tools write them."""

import re
import shlex
from pathlib import Path

import pytest

from videopred import cli


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("import x --out y.h5 --range 0,255", "--range must be two numbers, got 0,255; put spaces between them: 0 255"),
        ("train x.h5 --codec.channels [8,16]", "must be whole numbers, got [8,16]; put spaces between them: 8 16"),
        ("train x.h5 --codec.channels '8 16'", "must be whole numbers, got 8 16; leave out the quotes"),
        ("render x y --clips 0,1 -o z", "--clips must be whole numbers, got 0,1; put spaces between them: 0 1"),
        ("render x y --clips 0-2 -o z", "got 0-2; name each, with spaces between them: 0 ... 2"),
        ("render x y --rows truth pred -o z", "got pred; put commas between rows: --rows truth,pred"),
        ("evaluate x y --context -o z", "--context must be followed by a value, got nothing; see --help"),
        (
            "generate balls4 --curtain 8,5",
            "--curtain must be followed by 2 values, got 8,5; put spaces between them: 8 5",
        ),
        ("plausibility x --draw 0,1", "--draw must be numbers of scenes, got 0,1; put spaces between them: 0 1"),
        ("bench cores --batches 64,8", "--batches must be numbers of clips, got 64,8; put spaces between them: 64 8"),
        ("verify x.h5 --sample all", "--sample must be a number of clips, got all; see --help"),
        ("bench cores --device gpu", "--device must be one of cpu, cuda, got gpu; did you mean cuda?"),
        ("bench scores --size 64x48", "--size must be numbers of pixels, got 64x48; see --help"),
        ("generate balls4 --fixed 1 2 3", "--fixed must be pairs of numbers, got 1 2 3; see --help"),
        ("train x.h5 --overwrite yes", "got yes; write --overwrite, without a value"),
    ],
)
def test_how_to_write_it_here_is_told(words, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cli.run(shlex.split(words))


def test_an_experiment_is_no_figure():
    with pytest.raises(
        FileNotFoundError, match=r"got rims-figure-3; `videopred reproduce rims-figure-3` makes the fig"
    ):
        cli.run(["train", "rims-figure-3"])


@pytest.mark.parametrize(
    "words",
    [
        "generate balls4 --clips train=3 --clips test=2",
        "evaluate x y --metrics psnr --context 3 --metrics=mse",
        "train x.h5 --codec.channels 8 16 --codec.channels 3",
        "import x --out y.h5 --range 0 1 --range 0 255",
        "evaluate x y --metric-settings f1.threshold=0.4 --metric_settings f1.threshold=0.3",
    ],
)
def test_a_flag_of_several_values_is_given_once(words):
    flag = next(word for word in words.split() if word.startswith("--") and word not in ("--out", "--context"))
    with pytest.raises(ValueError, match=f"^{flag} must be given once, got it twice; put all behind one: {flag} A B$"):
        cli.run(words.split())


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        ("generate balls4 --out=~/balls.h5", "--out"),
        ("train x.h5 --out ~/run", "--out"),
        ("inspect ~somebody/balls.h5", "a path"),
        ("evaluate run --overwrite ~/balls.h5", "--overwrite"),
    ],
)
def test_a_home_folder_that_no_shell_has_put_there_is_refused(tmp_path, monkeypatch, words, argument):
    """Lightning would take one folder for it, and the rest of us another."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^{argument} must begin with no ~, which nothing has replaced, got ~"):
        cli.run(words.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "argument"),
    [("generate balls4 --out=", "--out"), ("generate balls4 --out ''", "--out"), ("inspect ''", "a path")],
)
def test_an_empty_path_is_refused(tmp_path, monkeypatch, words, argument):
    """Such as a variable of a shell that nobody has set: the path of no name would be the folder that one is in."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"^{argument} must have a value, got an empty one; give one, or leave it out"):
        cli.run(shlex.split(words))
    assert not list(tmp_path.iterdir())


def test_a_name_may_begin_with_a_tilde(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("~b.h5").write_text("no data")
    with pytest.raises(ValueError, match=r"~b\.h5"):
        cli.run(["inspect", "./~b.h5"])
    with pytest.raises(FileNotFoundError, match=r"got gone"):
        cli.run(["render", "gone", "./~b.h5", "--names", "gone=~1k parameters"])


@pytest.mark.parametrize(
    ("words", "flag"), [("--help sm-mnist", "--digit-size"), ("--help --balls 3", "--balls"), ("--balls -h", "--balls")]
)
def test_help_may_come_before_or_in_place_of_the_preset(capsys, words, flag):
    with pytest.raises(SystemExit):
        cli.run(["generate", *words.split()])
    assert flag in capsys.readouterr().out
