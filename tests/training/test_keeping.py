"""Which checkpoints stay, told apart by the update that they are of, mostly by a pretended trainer; and that each is
on the disk whole or not at all.
"""

import tempfile
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from tiny_runs import no_file_longer_than, tiny_model, tiny_training
from training_runs import learner, load

from videopred.training.keeping import AtomicIO, KeepCheckpoints
from videopred.training.resuming import StartingPoint
from videopred.training.run import train
from videopred.training.stopping import Stopped, StopSigns, TimeLimit

NAN = float("nan")


class Trainer:
    """Saves the number of the update, and shares nothing with others."""

    world_size, is_global_zero, should_stop = 1, True, False

    def __init__(self) -> None:
        self.global_step = 0
        self.saves: list[str] = []

    def save_checkpoint(self, path: Path) -> None:
        path.write_text(str(self.global_step))
        self.saves.append(path.name)


def stop_signs(limit: str | None = None) -> StopSigns:
    return StopSigns(TimeLimit(limit), several=False)


def keeper(folder: Path, signs: StopSigns | None = None, begun: int = 0, **training: Any) -> KeepCheckpoints:
    """For a run that goes on after `begun` updates, and nobody is told of its saves."""
    return KeepCheckpoints(
        folder, tiny_training(**training), signs or stop_signs(), StartingPoint(done=begun), lambda saved: None
    )


def look(
    folder: Path, losses: list[float], best_so_far: float = float("inf"), remembered: float = float("inf")
) -> dict[str, str]:
    """File -> update, after looks at each tenth update."""
    told: list[int] = []
    start = StartingPoint(best_so_far=best_so_far)
    keep = KeepCheckpoints(folder, tiny_training(), stop_signs(), start, lambda saved: told.append(trainer.global_step))
    trainer: Any = Trainer()
    model = learner()
    model.validations.lowest = remembered
    for number, loss in enumerate(losses, 1):
        trainer.global_step = 10 * number
        model.validations.note(loss, trainer.global_step, 5)
        keep.on_validation_end(trainer, model)
        assert told[-1] == trainer.global_step  # so that what the run replaces may go
    return {path.stem: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ([3.0, 2.0, 4.0, 2.5], "20"),
        ([3.0, 3.0], "10"),
        ([NAN, 3.0, NAN, 4.0], "20"),
        ([3.0, 1.0, 2.0, 0.5, 0.6], "40"),
    ],
)
def test_the_best_is_the_first_of_the_lowest_loss(tmp_path, losses, best):
    kept = look(tmp_path, losses)
    assert kept == {"best": best, "last": f"{10 * len(losses)}", "previous": f"{10 * len(losses) - 10}"}


def test_what_is_there_already_gives_way_to_a_lower_loss_only(tmp_path):
    (tmp_path / "best.ckpt").write_text("of before")
    assert look(tmp_path, [2.0, 3.0], 2.0)["best"] == "of before"
    assert look(tmp_path, [2.0, 1.9, 1.95], 2.0)["best"] == "20"


def test_a_lowest_loss_whose_checkpoint_is_lost_makes_no_other_the_best(tmp_path):
    """The looks remember it; what is kept is the best of those that are there."""
    assert look(tmp_path, [3.0, 2.0, 4.0], remembered=1.0)["best"] == "20"


def test_nothing_is_best_where_no_loss_is_a_number(tmp_path):
    assert look(tmp_path, [NAN, NAN]) == {"last": "20", "previous": "10"}


def passed(folder: Path, updates: int, signs: StopSigns, begun: int = 0, **training: Any) -> Trainer:
    """A trainer that has come to the beginning of each update from `begun` on, without looks."""
    keep, trainer, model = keeper(folder, signs, begun, **training), Trainer(), learner()
    said: Any = trainer
    with signs.held:
        trainer.global_step = begun
        keep.on_train_start(said, model)
        for trainer.global_step in range(begun, updates):
            keep.on_train_batch_start(said, model, None, 0)
    return trainer


def test_saves_between_looks_come_as_often_as_asked_and_never_twice(tmp_path):
    trainer = passed(tmp_path, 9, stop_signs(), save_every=3, keep_every=4)
    assert trainer.saves == [
        "next.ckpt",
        "update-0000004.ckpt",
        "next.ckpt",
        "next.ckpt",
        "update-0000008.ckpt",
        "next.ckpt",
    ]
    assert {path.stem: path.read_text() for path in tmp_path.iterdir()} == {
        "last": "8", "previous": "6", "update-0000004": "4", "update-0000008": "8",
    }  # fmt: skip


def test_what_a_look_has_saved_is_not_saved_again(tmp_path):
    keep, model = keeper(tmp_path, save_every=5), learner()
    trainer: Any = Trainer()
    trainer.global_step = 10
    keep.on_validation_end(trainer, model)
    trainer.saves.clear()
    keep.on_train_batch_start(trainer, model, None, 0)
    assert trainer.saves == []


def test_a_resumed_run_does_not_save_what_it_has_just_read(tmp_path):
    assert passed(tmp_path, 7, stop_signs(), begun=6, save_every=3).saves == []


@pytest.mark.parametrize("name", ["best", "previous"])
def test_what_a_run_goes_on_from_is_its_last_even_if_nothing_is_left_to_learn(tmp_path, name):
    for number, of in enumerate(("last", "best", "previous")):
        (tmp_path / f"{of}.ckpt").write_text(f"{number}")
    begun_with = (tmp_path / f"{name}.ckpt").read_text()
    start, trainer = StartingPoint(tmp_path / f"{name}.ckpt", 2), Trainer()
    keep = KeepCheckpoints(tmp_path, tiny_training(), stop_signs(), start, lambda saved: None)
    said: Any = trainer
    keep.on_fit_start(said, learner())
    assert trainer.saves == []
    assert {path.stem: path.read_text() for path in tmp_path.iterdir()} == {
        "last": begun_with, "previous": "0", "best": "1",
    }  # fmt: skip


def test_no_stop_before_the_first_update_is_done(tmp_path):
    """A time limit shorter than an update would else never come further."""
    with pytest.raises(Stopped, match=r"^time limit of 0s reached$"):
        passed(tmp_path, 9, stop_signs("0s"), begun=4)
    assert (tmp_path / "last.ckpt").read_text() == "5"


def test_a_stop_waits_until_all_pieces_of_an_update_are_done(tmp_path):
    keep, model = keeper(tmp_path, stop_signs("0s")), learner()
    trainer: Any = Trainer()
    trainer.global_step = 2
    model._pieces.append(next(model.parameters()).sum())
    keep.on_train_batch_start(trainer, model, None, 0)
    model._pieces.clear()
    with pytest.raises(Stopped):
        keep.on_train_batch_start(trainer, model, None, 0)


def test_the_trainer_is_told_when_all_updates_are_done(tmp_path):
    """And is not told to go on where somebody else has told it to stop."""
    keep = keeper(tmp_path, updates=3)
    trainer: Any = Trainer()
    for trainer.global_step, trainer.should_stop, ended in ((2, False, False), (2, True, True), (3, False, True)):
        keep.on_train_batch_end(trainer)
        assert trainer.should_stop == ended


def test_other_processes_than_the_first_save_along_and_move_nothing(tmp_path):
    """All have to come to a save, as each may hold a part of the weights; the files are the first one's."""
    keep, trainer = keeper(tmp_path), Trainer()
    trainer.is_global_zero = False
    said: Any = trainer
    keep.on_validation_end(said, learner())
    assert trainer.saves == [path.name for path in tmp_path.iterdir()] == ["next.ckpt"]


def test_which_checkpoints_a_training_keeps(data, tmp_path, monkeypatch):
    settings = tiny_training(updates=7, validate_every=4, save_every=3, keep_every=2)
    saved, save = [], KeepCheckpoints._save

    def watched(self: KeepCheckpoints, trainer: Any) -> None:
        save(self, trainer)
        saved.append(trainer.global_step)

    monkeypatch.setattr(KeepCheckpoints, "_save", watched)
    run = train(data, tiny_model(), settings, out=tmp_path / "run", device="cpu")
    assert saved == [2, 3, 4, 6, 7]
    names = {path.name: load(path)["global_step"] for path in (run / "checkpoints").iterdir()}
    assert names.pop("best.ckpt") in (4, 7)
    kept = {f"update-000000{number}.ckpt": number for number in (2, 4, 6)}
    assert names == {"last.ckpt": 7, "previous.ckpt": 6} | kept


def test_a_checkpoint_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "checkpoints" / "last.ckpt"
    AtomicIO().save_checkpoint({"update": 1}, path)
    assert torch.load(path, weights_only=True) == {"update": 1}
    message = r"last\.ckpt must be a file that can be written, got File too large; free some space"
    with pytest.raises(OSError, match=message), no_file_longer_than(1000):
        AtomicIO().save_checkpoint({"update": 2, "weights": torch.zeros(1000)}, path)
    assert torch.load(path, weights_only=True) == {"update": 1}
    assert [file.name for file in path.parent.iterdir()] == ["last.ckpt"]


def test_a_disk_without_room_for_the_last_again_is_one_line(tmp_path):
    """As of a run that was killed between saving the best and the last."""
    (tmp_path / "best.ckpt").write_bytes(bytes(1000))
    start = StartingPoint(checkpoint=tmp_path / "best.ckpt", done=3)
    keep, said = KeepCheckpoints(tmp_path, tiny_training(), stop_signs(), start, lambda saved: None), Trainer()
    message = r"next\.ckpt must be a file that can be written, got File too large; free some space"
    with pytest.raises(OSError, match=message), no_file_longer_than(100):
        keep.on_fit_start(said, learner())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["best.ckpt"]


def test_no_checkpoint_goes_through_the_temporary_folder(tmp_path, monkeypatch):
    """It may be on another disk, and smaller than a checkpoint."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    AtomicIO().save_checkpoint({"update": 3}, tmp_path / "last.ckpt")
    assert torch.load(tmp_path / "last.ckpt", weights_only=True) == {"update": 3}


def test_lightning_saves_through_it(tmp_path):
    """The plugin is what Trainer.save_checkpoint uses: the file is written beside its final name."""
    written = []

    class Watched(AtomicIO):
        def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
            written.append(Path(path).name)
            super().save_checkpoint(checkpoint, path, storage_options)

    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, plugins=[Watched()], default_root_dir=tmp_path
    )
    trainer.strategy.connect(lightning.LightningModule())
    trainer.save_checkpoint(tmp_path / "a.ckpt")
    assert written == ["a.ckpt"]
