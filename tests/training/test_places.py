"""Where runs from several seeds go, and what is refused before the first begins."""

import json
from pathlib import Path

import pytest
from command_line import run
from tiny_runs import files_of, tiny_model, tiny_training

from videopred.settings import ComputeConfig
from videopred.training.run import train
from videopred.training.seeds import resume_seeds, train_seeds


def test_runs_of_other_seeds_are_not_left_behind_without_a_summary(data, tmp_path):
    out = train_seeds(data, (1, 2), tiny_model(), tiny_training(updates=1), out=tmp_path / "runs", device="cpu")
    before = (out / "seeds.json").read_bytes()
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*seeds\.json \(already there\)"):
        train_seeds(data, (3,), tiny_model(), tiny_training(), out=out, device="cpu")
    message = "^--seeds must name those of the runs that are there, 1,2, got 2,3; name them as well, or choose another"
    with pytest.raises(ValueError, match=message):
        train_seeds(data, (2, 3), tiny_model(), tiny_training(), out=out, device="cpu", overwrite=True)
    assert (out / "seeds.json").read_bytes() == before
    more = tiny_training(updates=1, learning_rate=0.01)
    train_seeds(data, (1, 2, 3), tiny_model(), more, out=out, device="cpu", overwrite=True)
    assert set(json.loads((out / "seeds.json").read_text())["validation"]) == {"1", "2", "3"}
    for damaged in ("{}", '{"seeds": ["one"]}', '{"seeds": []}', '{"seeds": [3], "to_replace": [1]}', ""):
        (out / "seeds.json").write_text(damaged)
        assert run(f"train --resume {out}") == 1
        with pytest.raises(
            ValueError, match=r"seeds\.json must name the seeds of the runs, got something else; write {"
        ):
            resume_seeds(out, device="cpu")


def test_the_usual_folder_of_several_seeds(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = train_seeds(data, (1,), tiny_model(), tiny_training(updates=1), device="cpu")
    assert out == Path("models/balls4-gru")
    assert (out / "seed-1" / "settings.json").exists()


def test_clips_behind_a_link_are_recorded_under_its_name(data, tmp_path):
    """Which results and commands go by as well; the disk behind it may be another next year."""
    link = tmp_path / "mine.h5"
    link.symlink_to(data)
    run = train(link, tiny_model(), tiny_training(updates=1), out=tmp_path / "run", device="cpu")
    assert json.loads((run / "settings.json").read_text())["data"]["path"] == str(link)


def test_several_seeds_do_not_move_into_a_run(data, tmp_path):
    old = train(data, tiny_model(), tiny_training(updates=1), out=tmp_path / "run", device="cpu")
    with pytest.raises(ValueError, match=r"^--out must be no run itself, as --seeds makes runs in it, got .*/run; "):
        train_seeds(data, (1, 2), tiny_model(), tiny_training(), out=old, device="cpu", overwrite=True)
    assert not (old / "seeds.json").exists()


@pytest.mark.parametrize("seeds", [(3, 1, 2), (1, 2, 3)], ids=str)
def test_seeds_that_cannot_begin_leave_the_summary_of_those_that_are_there(data, tmp_path, seeds):
    out = train_seeds(data, (1, 2), tiny_model(), tiny_training(updates=1), out=tmp_path / "runs", device="cpu")
    before = files_of(out)
    settings = tiny_training(batch_size=400)
    with pytest.raises(ValueError, match=r"^--batch-size must be at most"):
        train_seeds(data, seeds, tiny_model(), settings, out=out, device="cpu", overwrite=True)
    assert files_of(out) == before


def test_a_run_that_is_in_the_way_of_the_last_seed_is_said_before_the_first(data, tmp_path):
    """And not when that has been trained."""
    train(data, tiny_model(), tiny_training(updates=1, seed=5), out=tmp_path / "runs" / "seed-5", device="cpu")
    with pytest.raises(FileExistsError, match=r"^--out must be a new path, got .*seed-5 \(already there\); choose an"):
        train_seeds(data, (4, 5), tiny_model(), tiny_training(), out=tmp_path / "runs", device="cpu")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["seed-5"]


def test_a_training_that_was_stopped_is_told_how_to_go_on(data, tmp_path):
    """Else its command, given again, would be answered with --overwrite alone, which throws away what was learned."""
    model, learning, at_once = tiny_model(), tiny_training(updates=2), ComputeConfig(time_limit="0s")
    run, runs = tmp_path / "gru", tmp_path / "runs"
    with pytest.raises(KeyboardInterrupt):
        train(data, model, learning, out=run, compute=at_once, device="cpu")
    with pytest.raises(
        FileExistsError, match=rf"gru \(a run that is not finished\); `videopred train --resume {run}` c"
    ):
        train(data, model, learning, out=run, device="cpu")
    with pytest.raises(KeyboardInterrupt):
        train_seeds(data, (1, 2), model, learning, out=runs, compute=at_once, device="cpu")
    message = rf"runs \(runs that are not all finished\); `videopred train --resume {runs}` continues it; or choose"
    with pytest.raises(FileExistsError, match=message):
        train_seeds(data, (1, 2), model, learning, out=runs, device="cpu")
    train(data, model, learning, out=run, device="cpu", overwrite=True)
    with pytest.raises(FileExistsError, match=r"gru \(already there\)"):
        train(data, model, learning, out=run, device="cpu")


def test_seeds_that_cannot_begin_leave_nothing(data, tmp_path):
    with pytest.raises(ValueError, match=r"^--batch-size must be at most"):
        train_seeds(data, (3, 4), tiny_model(), tiny_training(batch_size=400), out=tmp_path / "a" / "b", device="cpu")
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("")
    with pytest.raises(ValueError, match=r"^--batch-size must be at most"):
        train_seeds(data, (3, 4), tiny_model(), tiny_training(batch_size=400), out=tmp_path / "mine", device="cpu")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("seeds", "compute", "message"),
    [
        ((), {}, "^--seeds must name at least one, got none"),
        ((1, 1), {}, "^--seeds must name each once, got 1 twice"),
        ((-1, 2), {}, r"^--seeds must be whole numbers from 0 to 2\*\*64 - 1, got -1,2"),
        ((1, 2**64), {}, r"^--seeds must be whole numbers from 0 to 2\*\*64 - 1, got 1,18446744073709551616"),
        ((1, 2), {"devices": 2}, "^--devices must be 1 with --seeds, got 2; train one after the other"),
        ((1, 2), {"nodes": 3}, "^--nodes must be 1 with --seeds, got 3; train one after the other"),
    ],
)
def test_seeds_that_do_not_do(data, tmp_path, seeds, compute, message):
    with pytest.raises(ValueError, match=message):
        train_seeds(data, seeds, out=tmp_path / "runs", compute=ComputeConfig(**compute))
    if compute:
        with pytest.raises(ValueError, match=message):
            resume_seeds(tmp_path / "runs", compute=ComputeConfig(**compute))
