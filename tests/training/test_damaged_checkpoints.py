"""What of a run's checkpoints is damaged is passed over, and what only cannot be read now stays."""

import errno
import json
import shutil
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any
from zipfile import ZipFile

import pytest
import torch
from tiny_runs import HEIGHT, WIDTH, files_of, tiny_model, tiny_training
from training_runs import UNDRAWN, equal, load, weights

from videopred import checkpoint
from videopred.check import FaultyFileError
from videopred.checkpoint import CONFIG_KEY, RunConfig, whole_checkpoint
from videopred.training import resuming
from videopred.training.metrics_file import read_metrics
from videopred.training.resuming import LOOKS_KEY, find_start, read_settings
from videopred.training.run import resume, train


def damage(path: Path, at: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(at * len(content))] ^= 1
    path.write_bytes(content)


def test_a_broken_last_checkpoint_falls_back_to_the_one_before(data, stopped, tmp_path, capfd):
    damage(stopped / "checkpoints" / "last.ckpt", 0.5)
    resume(stopped, watch=UNDRAWN, device="cpu")
    said = capfd.readouterr().err
    assert "last.ckpt must be a whole checkpoint, got" in said
    assert said.endswith("; resuming from best.ckpt\n")
    straight = train(
        data, tiny_model(), tiny_training(updates=5), watch=UNDRAWN, out=tmp_path / "straight", device="cpu"
    )
    assert equal(weights(stopped), weights(straight))
    assert read_metrics(stopped / "logs" / "metrics.csv") == read_metrics(straight / "logs" / "metrics.csv")


@pytest.mark.parametrize("kept", ["best.ckpt", None])
def test_what_is_left_of_damaged_checkpoints_is_said(stopped, kept, capfd):
    for name in ("best.ckpt", "previous.ckpt", "last.ckpt"):
        if name != kept:
            damage(stopped / "checkpoints" / name, 0.5)
    start = find_start(stopped, read_settings(stopped)[0])
    assert (start.checkpoint and start.checkpoint.name) == kept
    said = capfd.readouterr().err.splitlines()
    told = "resuming from best.ckpt" if kept else "nothing else is saved, so it starts from scratch"
    assert len(said) == (2 if kept else 3)
    assert [line.partition("; ")[2] for line in said[-2:]] == [told, told]
    find_start(stopped, read_settings(stopped)[0])
    anew = f"videopred: {stopped} has saved nothing yet; it starts from scratch\n"
    assert capfd.readouterr().err == ("" if kept else anew)


@pytest.mark.parametrize("counted", ["updates", "saved"])
def test_a_run_whose_checkpoints_are_gone_does_not_begin_again(stopped, counted):
    """It would take as long again, and nobody asked for that."""
    shutil.rmtree(stopped / "checkpoints")
    record = json.loads((stopped / "run.json").read_text())
    record[counted] = record.pop("updates")
    (stopped / "run.json").write_text(json.dumps(record))
    before = files_of(stopped)
    told = rf"^--resume must hold its checkpoints, got {stopped} without any, though run\.json says that 3 updates were"
    with pytest.raises(FaultyFileError, match=told):
        resume(stopped, watch=UNDRAWN, device="cpu")
    assert files_of(stopped) == before
    spaced = stopped.rename(stopped.with_name("my run"))
    with pytest.raises(FaultyFileError, match=rf"or train it anew with --out '{spaced}' --overwrite$"):
        resume(spaced, watch=UNDRAWN, device="cpu")


def test_a_folder_in_the_place_of_a_checkpoint_is_named(stopped):
    last = stopped / "checkpoints" / "last.ckpt"
    last.unlink()
    last.mkdir()
    with pytest.raises(FaultyFileError, match=rf"^{last} must be a whole checkpoint, got a folder; delete it before"):
        resume(stopped, watch=UNDRAWN, device="cpu")


def test_what_is_damaged_is_taken_away_before_it_takes_the_place_of_what_is_whole(stopped):
    """Else the next save would make it the one before the last. It is kept, as somebody may know how to save it."""
    path = stopped / "checkpoints" / "last.ckpt"
    damage(path, 0.5)
    content = path.read_bytes()
    start = find_start(stopped, read_settings(stopped)[0])
    assert not path.exists()
    assert (stopped / "checkpoints" / "last.ckpt.damaged").read_bytes() == content
    assert start.checkpoint is not None
    assert load(start.checkpoint)["global_step"] == start.done >= 2


@pytest.mark.parametrize("content", [{"global_step": 5}, {CONFIG_KEY: "another model"}], ids=["program", "model"])
def test_a_whole_checkpoint_of_another_program_or_model_is_refused_and_left(stopped, content):
    path = stopped / "checkpoints" / "last.ckpt"
    if CONFIG_KEY in content:
        theirs = RunConfig(model=tiny_model("lstm"), film_shape=(1, HEIGHT, WIDTH), training=tiny_training())
        content, message = {CONFIG_KEY: theirs.model_dump_json()}, r"last\.ckpt must be of the model in .* core gru,"
    else:
        message = r"^RUN must hold the settings of a run, got .*last\.ckpt; restore the file"
    torch.save(content, path)
    before = files_of(stopped)
    with pytest.raises(FaultyFileError, match=message):
        resume(stopped, device="cpu")
    assert files_of(stopped) == before


def test_a_flipped_bit_anywhere_in_a_checkpoint_is_found_or_changes_nothing(stopped, tmp_path):
    path = stopped / "checkpoints" / "last.ckpt"
    right = load(path)["state_dict"]
    found = 0
    for number in range(40):
        copy = shutil.copy(path, tmp_path / "copy.ckpt")
        damage(Path(copy), (number + 0.5) / 40)
        try:
            read = whole_checkpoint(Path(copy))
        except ValueError:
            found += 1
        else:
            assert equal(read["state_dict"], right)
    assert found > 20


def test_the_best_checkpoint_is_never_replaced_by_a_worse_one(stopped):
    """Not even where the resumed run has forgotten the look that it is from."""
    best = stopped / "checkpoints" / "best.ckpt"
    content = load(best)
    content["videopred_looks"]["latest"] = -1.0
    torch.save(content, best)
    before = best.read_bytes()
    resume(stopped, watch=UNDRAWN, device="cpu")
    assert best.read_bytes() == before


def test_the_best_checkpoint_is_as_good_as_the_look_that_it_is_from(stopped):
    """Not as the lowest on its record, whose checkpoint may have been lost, nor as that of any other checkpoint."""
    best = stopped / "checkpoints" / "best.ckpt"
    content = load(best)
    content["videopred_looks"] |= {"latest": 7.0, "lowest": 3.0}
    torch.save(content, best)
    assert find_start(stopped, read_settings(stopped)[0]).best_so_far == 7.0


def test_a_damaged_best_checkpoint_makes_room_for_the_best_that_comes(stopped, capfd):
    """However low the loss on record is, whose weights are lost."""
    path = stopped / "checkpoints" / "last.ckpt"
    content = load(path)
    content["videopred_looks"]["lowest"] = -1.0
    torch.save(content, path)
    damage(stopped / "checkpoints" / "best.ckpt", 0.5)
    resume(stopped, watch=UNDRAWN, device="cpu")
    assert capfd.readouterr().err.endswith("; the best from here on is kept\n")
    rows = read_metrics(stopped / "logs" / "metrics.csv")
    losses = [float(row["validation_bce"]) for row in rows if "validation_bce" in row][-2:]
    kept = load(stopped / "checkpoints" / "best.ckpt")
    assert kept["videopred_looks"]["latest"] == pytest.approx(min(losses), rel=1e-6)
    assert kept["global_step"] == 4 + losses.index(min(losses))


def test_a_damaged_checkpoint_that_another_process_has_moved_meanwhile_is_passed_over(stopped, monkeypatch):
    """As where torchrun starts all processes of a training at once."""

    def is_faster(path: Path) -> dict[str, Any]:
        if path.name == "last.ckpt":
            path.unlink()
            raise checkpoint.DamagedCheckpointError("last.ckpt must be whole; delete it")
        return whole_checkpoint(path)

    monkeypatch.setattr(resuming, "whole_checkpoint", is_faster)
    start = find_start(stopped, read_settings(stopped)[0])
    assert start.checkpoint == stopped / "checkpoints" / "best.ckpt"


def test_the_newest_whole_checkpoint_that_was_to_be_kept_is_better_than_none(stopped, capfd):
    folder = stopped / "checkpoints"
    for done in (2, 3, 12):
        content = load(folder / "last.ckpt") | {"global_step": done}
        torch.save(content, folder / f"update-{done:07}.ckpt")
    (folder / "update-soon.ckpt").touch()
    for name in ("best.ckpt", "previous.ckpt", "last.ckpt", "update-0000012.ckpt"):
        damage(folder / name, 0.5)
    start = find_start(stopped, read_settings(stopped)[0])
    assert (start.checkpoint, start.done) == (folder / "update-0000003.ckpt", 3)
    assert capfd.readouterr().err.splitlines()[-1].endswith("; resuming from update-0000003.ckpt")


def test_checkpoints_that_were_to_be_kept_are_left_alone_where_the_last_is_as_new(stopped, capfd):
    """They may be many and large, and one that is damaged is not needed."""
    folder = stopped / "checkpoints"
    kept = [folder / f"update-{done:07}.ckpt" for done in (2, 3)]
    for path in kept:
        path.write_bytes(b"damaged")
    start = find_start(stopped, read_settings(stopped)[0])
    assert (start.checkpoint, start.done) == (folder / "last.ckpt", 3)
    assert [path.read_bytes() for path in kept] == [b"damaged", b"damaged"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("reader", ["ZipFile", "torch.load"])
@pytest.mark.parametrize(
    "failure",
    [
        PermissionError(errno.EACCES, "Permission denied", "last.ckpt"),
        OSError(errno.EIO, "Input/output error"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000 bytes."),
        RuntimeError("std::bad_alloc"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_checkpoint_that_only_cannot_be_read_now_is_no_damaged_one(stopped, monkeypatch, failure, reader):
    """Else a machine short of memory for a moment would cost the work of days."""

    def fails(*_: Any, **__: Any) -> None:
        raise failure

    before = files_of(stopped)
    monkeypatch.setattr(checkpoint, *(("ZipFile", fails) if reader == "ZipFile" else ("torch", Namespace(load=fails))))
    with pytest.raises(type(failure)) as caught:
        find_start(stopped, read_settings(stopped)[0])
    assert caught.value is failure
    assert files_of(stopped) == before


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"learning_rate": 0.0625}, "learning_rate 0.0625, got 0.0007"),
        ({"updates": 9}, "updates 9, got 5"),
        ({"seed": 8}, "seed 8, got seed 0"),
    ],
)
def test_settings_that_somebody_has_changed_are_not_followed(stopped, changes, differing):
    """Nor is a checkpoint of another run of the same model."""
    file = stopped / "settings.json"
    settings = json.loads(file.read_text())
    settings["training"] |= changes
    file.write_text(json.dumps(settings))
    before = files_of(stopped)
    must = (
        rf"^{stopped}/checkpoints/best\.ckpt must be of the \w+ in settings\.json, with {differing}; put back the run's"
    )
    with pytest.raises(FaultyFileError, match=must):
        resume(stopped, watch=UNDRAWN, device="cpu")
    assert {name: content for name, content in files_of(stopped).items() if name != ".lock"} == before


def test_a_checkpoint_of_a_run_on_other_clips_is_refused(stopped):
    config = read_settings(stopped)[0]
    assert config.data is not None
    other = config.model_copy(update={"data": config.data.model_copy(update={"sha256": 64 * "0"})})
    with pytest.raises(FaultyFileError, match=rf"ckpt must be of the run in settings\.json, with data {64 * '0'}, got"):
        find_start(stopped, other)


@pytest.mark.parametrize("part", ["global_step", "optimizer_states", "loops", LOOKS_KEY])
def test_a_checkpoint_without_a_part_that_training_goes_on_from_is_refused(stopped, part):
    last = stopped / "checkpoints" / "last.ckpt"
    content = load(last)
    del content[part]
    torch.save(content, last)
    before = files_of(stopped)
    with pytest.raises(FaultyFileError, match=rf"^{last} must hold all that training goes on from, got no {part}; put"):
        find_start(stopped, read_settings(stopped)[0])
    assert files_of(stopped) == before


@pytest.mark.parametrize(
    ("part", "odd"),
    [
        ("global_step", "6"),
        ("state_dict", []),
        ("optimizer_states", []),
        ("loops", {}),
        (LOOKS_KEY, {}),
        (LOOKS_KEY, 3),
    ],
)
def test_a_part_that_is_something_else_is_refused(stopped, part, odd):
    last = stopped / "checkpoints" / "last.ckpt"
    torch.save(load(last) | {part: odd}, last)
    with pytest.raises(
        FaultyFileError, match=rf"^{last} must hold all that .*, got something else as {part}; put back"
    ):
        find_start(stopped, read_settings(stopped)[0])


def test_a_checkpoint_of_a_later_lightning_is_gone_on_with_and_said_to_be_so(stopped):
    last = stopped / "checkpoints" / "last.ckpt"
    torch.save(load(last) | {"pytorch-lightning_version": "99.0"}, last)
    with pytest.warns(match=r"The loaded checkpoint was produced with Lightning v99\.0, which is newer than"):
        resume(stopped, watch=UNDRAWN, device="cpu")


def test_damage_in_a_checkpoints_list_of_its_files_is_damage(stopped, capfd):
    """It has no checksum, and zipfile does not compare all of it with the files, such as their packed sizes."""
    last = stopped / "checkpoints" / "last.ckpt"
    content = bytearray(last.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 20] ^= 1
    last.write_bytes(content)
    with ZipFile(last) as archive:
        assert archive.testzip() is None
    assert find_start(stopped, read_settings(stopped)[0]).checkpoint == stopped / "checkpoints" / "best.ckpt"
    assert "last.ckpt must be a whole checkpoint, got something else; resuming from best.ckpt" in capfd.readouterr().err
    assert last.with_name("last.ckpt.damaged").is_file()


def test_a_whole_file_that_this_torch_does_not_load_stays(stopped):
    """As one from a newer torch may be."""
    torch.save(Namespace(evil=1), stopped / "checkpoints" / "last.ckpt")
    before = files_of(stopped)
    with pytest.raises(FaultyFileError, match=r"last\.ckpt must be a whole checkpoint, got something else; delete it"):
        find_start(stopped, read_settings(stopped)[0])
    assert files_of(stopped) == before
