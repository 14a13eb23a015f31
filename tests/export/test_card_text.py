"""How a card says which experiment a run was of."""

import pytest

from videopred.checkpoint import ExperimentRecord
from videopred.commands.experiments import record_of
from videopred.experiments import find_experiment
from videopred.experiments.asking import ask
from videopred.export.card_text import _experiment


@pytest.mark.parametrize(
    ("name", "scale", "changed", "said"),
    [
        ("rims-balls4", "paper", {}, "`rims-balls4` at scale paper"),
        ("rims-balls4", "paper", {"core.active": 3}, "`rims-balls4` at scale paper, with its own core.active"),
        ("rims-balls4", "small", {}, "`rims-balls4` at scale small, which is not as published"),
        (
            "rims-balls4",
            "paper",
            {"core.units": 7, "core.kind": "gru"},
            "`rims-balls4` at scale paper, with its own core",
        ),
        ("mine", "paper", {}, "`mine`, from an own file"),
        ("mine", "tiny", {"core.cell": "gru"}, "`mine`, from an own file, at scale tiny, with its own core.cell"),
    ],
)
def test_only_what_a_paper_has_is_said_to_be_as_published(name, scale, changed, said):
    assert _experiment(ExperimentRecord(name=name, scale=scale, changed=changed)) == said


def test_an_own_file_may_be_named_like_a_published_experiment(tmp_path):
    own = tmp_path / "rims-balls4.json"
    own.write_text(find_experiment("rims-balls4").model_dump_json())
    for data, said in (("rims-balls4", "`rims-balls4` at scale paper"), (str(own), "`rims-balls4`, from an own file")):
        asked = ask(data, None)
        assert _experiment(record_of(asked, asked.scaled)) == said
