"""The log of what was said."""

import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_runs import no_file_longer_than, tiny_model, tiny_training
from training_runs import learner, stderr_unread

from videopred.training.run import resume, train
from videopred.training.stopping import StopSigns
from videopred.training.telling import TellValidations, listening, say


def lines(path) -> list[str]:
    """What was said, without the times, which are there."""
    texts = path.read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", text) for text in texts)
    return [text[20:] for text in texts]


def test_what_is_said_is_kept_and_shown_on_request_only(tmp_path, capfd, caplog):
    """Loggers of the program around it hear nothing of it."""
    say("to nobody")
    for progress in (False, True):
        with listening(tmp_path / "log.txt", progress):
            say(f"progress {progress}")
    say("to nobody")
    assert caplog.messages == []
    assert lines(tmp_path / "log.txt") == ["progress False", "progress True"]
    assert capfd.readouterr() == ("", "progress True\n")
    speaker = logging.getLogger("videopred.training")
    assert (speaker.handlers, speaker.level, speaker.propagate) == ([], logging.NOTSET, True)


def test_how_it_ended_is_kept(tmp_path):
    with pytest.raises(ValueError, match="the machine caught fire"), listening(tmp_path / "log.txt", False):
        raise ValueError("the machine caught fire")
    assert lines(tmp_path / "log.txt") == ["ended: the machine caught fire"]


@pytest.mark.parametrize(
    ("error", "told"), [(MemoryError(), "MemoryError"), (ValueError("no \x1b[2Jhelp"), "no \\x1b[2Jhelp")]
)
def test_an_end_is_told_by_its_kind_if_by_nothing_else_and_printably(tmp_path, error, told):
    with pytest.raises(type(error)), listening(tmp_path / "log.txt", False):
        raise error
    assert lines(tmp_path / "log.txt") == [f"ended: {told}"]


def test_a_full_disk_is_not_the_log_s_matter(tmp_path, capfd):
    with listening(tmp_path / "log.txt", False), no_file_longer_than(10):
        say("more than ten letters")
        say("and more")
    assert capfd.readouterr() == ("", "")


def test_a_training_does_not_end_because_nobody_reads(data, tmp_path):
    """As behind `2>&1 | head`, or `| tee` which Ctrl-C has ended, too; the log has it all."""
    with stderr_unread():
        run = train(data, tiny_model(), tiny_training(), out=tmp_path / "run", device="cpu", progress=True)
    assert lines(run / "log.txt")[-1] == "finished"


def test_a_loss_above_one_before_is_not_called_the_lowest(tmp_path):
    model = learner()
    with listening(tmp_path / "log.txt", False):
        for update, loss in ((10, 0.25), (20, 0.5)):
            model.validations.note(loss, update, patience=3)
            trainer: Any = SimpleNamespace(callback_metrics={"validation_bce": loss}, global_step=update)
            TellValidations().on_validation_end(trainer, model)
    told = ["update 10: validation_bce 0.25, the lowest so far", "update 20: validation_bce 0.5"]
    assert lines(tmp_path / "log.txt") == told


def test_a_run_that_stopped_and_went_on(data, tmp_path, monkeypatch):
    monkeypatch.setattr(StopSigns, "reason", lambda self, trainer: "told to" if trainer.global_step == 2 else None)
    training, run = tiny_training(updates=3), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(data, tiny_model(), training, out=run, device="cpu")
    monkeypatch.undo()
    resume(run, device="cpu")
    told = lines(run / "log.txt")
    assert told[0] == f"{run} on cpu: 3 updates"
    assert re.fullmatch(r"update 1: validation_bce [\d.]+, the lowest so far", told[1])
    assert told[3] == f"ended: told to: 2 of 3 updates are done; continue with `videopred train --resume {run}`"
    assert told[4] == f"{run} on cpu: resumes after 2 of 3 updates"
    assert told[5].startswith("update 3: validation_bce ")
    assert told[6:] == ["finished"]
