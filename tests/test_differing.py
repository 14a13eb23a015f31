"""The settings by which runs differ: those that a user varied, and no others."""

from typing import Any

from tiny_runs import tiny_model, tiny_training

from videopred.differing import differing
from videopred.models.settings import OwnConfig
from videopred.settings import Settings


def said(model: Settings, training: Settings, **more: Any) -> dict[str, Any]:
    """What a settings.json holds."""
    return {"model": model.model_dump(mode="json"), "training": training.model_dump(mode="json"), **more}


def test_settings_that_differ_are_named_as_their_flags():
    wide = tiny_model("gru").model_copy(update={"stack": 3})
    one = said(tiny_model("gru"), tiny_training(updates=3))
    other = said(
        wide,
        tiny_training(updates=3, learning_rate=0.0125, clip_norm=None, keep_every=7),
        init_from="/home/me/sweep/seed-1",
    )
    assert differing({"one": one, "other": other}) == {
        "stack": ["1", "3"],
        "learning-rate": [f"{tiny_training().learning_rate:g}", "0.0125"],
        "clip-norm": [f"{tiny_training().clip_norm:g}", "–"],
        "keep-every": ["–", "7"],
        "init-from": ["–", "sweep/seed-1"],
    }
    assert differing({"one": one, "odd": {"model": {"core": {}}, "training": None, "data": {"path": None}}}) == {
        "core": ["gru", "–"]
    }
    assert differing({"one": one, "same": one}) == differing({"one": one}) == differing({}) == {}


def test_what_one_core_has_alone_is_said_by_its_name():
    """And what some have and others do not is a dash there."""
    cores = [tiny_model("gru"), tiny_model("rims"), tiny_model("rims"), tiny_model("scoff")]
    cores[2] = cores[2].model_copy(update={"core": cores[2].core.changed(dropout=0.25, comm_gate=False)})
    found = differing({str(number): said(core, tiny_training()) for number, core in enumerate(cores)})
    assert found["core"] == ["gru", "rims", "rims", "scoff"]
    assert (found["core.dropout"][0], found["core.dropout"][2]) == ("–", "0.25")
    assert found["core.comm-gate"][:3] == ["–", "yes", "no"]
    assert "core.schemata" not in found
    assert list(found).index("core") < list(found).index("core.dropout")


def test_an_own_core_is_named_by_its_source_and_has_settings():
    cores = [OwnConfig(source=source, settings={"leak": leak}) for source, leak in (("m:A", 1), ("m:A", 2), ("m:B", 2))]
    models = [tiny_model("gru").model_copy(update={"core": core}) for core in cores]
    found = differing({str(number): said(model, tiny_training()) for number, model in enumerate(models)})
    assert found == {"core": ["m:A", "m:A", "m:B"], "core.leak": ["1", "2", "2"]}


def test_data_are_called_as_their_results_are():
    paths = ("/far/a/two.h5", "b/two.h5", "balls4/")
    prints = ("12ab34cd56", "12ab34cd56", "98fe")
    data = [{"path": path, "sha256": mark} for path, mark in zip(paths, prints, strict=True)]
    runs = {one["path"]: said(tiny_model(), tiny_training(), data=one) for one in data}
    assert differing(runs) == {"data": ["two", "two", "balls4"]}
    data[1]["sha256"] = "0000ffff11"
    runs = {one["path"]: said(tiny_model(), tiny_training(), data=one) for one in data[:2]}
    assert differing(runs) == {"data": ["two (12ab34cd…)", "two (0000ffff…)"]}, "other clips of one name"
    third = data[1] | {"path": "c/other.h5"}
    runs = {one["path"]: said(tiny_model(), tiny_training(), data=one) for one in (*data[:2], third)}
    told = ["two (12ab34cd…)", "two (0000ffff…)", "other (0000ffff…)"]
    assert differing(runs) == {"data": told}, "also where those of another name are the same"
