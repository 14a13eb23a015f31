"""The cards that are committed under datasets/cards: one for every data set, and true."""

import json
import re
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from command_line import run

from videopred.cards import write_cards
from videopred.datasets import DATASETS, find_recipe, make_world

CARDS = Path(__file__).parents[1] / "datasets" / "cards"


@pytest.mark.parametrize("name", DATASETS)
def test_the_committed_card_is_that_of_the_preset(name):
    """When this fails: `videopred cards --overwrite`."""
    card = json.loads((CARDS / f"{name}.json").read_text())
    assert card["recipe"] == make_world(name).recipe.model_dump(mode="json")
    assert card["summary"] == DATASETS[name].summary
    assert (CARDS / f"{name}.gif").stat().st_size < 400_000


def test_there_is_no_card_of_what_is_gone():
    assert {path.stem for path in CARDS.iterdir()} == set(DATASETS)


def test_a_card_is_made_by_its_name(tmp_path):
    assert write_cards(tmp_path, ["balls4"]) == [tmp_path / "balls4.json", tmp_path / "balls4.gif"]
    card = json.loads((tmp_path / "balls4.json").read_text())
    assert card["recipe"] == find_recipe("balls4").model_dump(mode="json")
    assert card["shown"] == {"part": "train", "clips": 3, "seed": 0, "every": 1}  # all 51 frames of a clip
    with pytest.raises(ValueError, match=r"^the data set must be one of .*, got balls9; did you mean balls"):
        write_cards(tmp_path, ["balls9"])


def test_the_command_replaces_no_file_unasked(tmp_path, capfd):
    (tmp_path / "balls4.json").write_text("mine")
    assert run(f"cards balls4 --out {tmp_path}") == 1
    assert f"--out must be a new path, got {tmp_path / 'balls4.json'} (already there)" in capfd.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("balls4.json", "mine")]
    assert run(f"cards balls4 --out {tmp_path} --overwrite") == 0
    assert {path.name for path in tmp_path.iterdir()} == {"balls4.json", "balls4.gif"}


def test_a_long_clip_is_shown_to_its_end(tmp_path):
    """Every second frame of 100: what is impossible in `occlusion` shows only after the screens have fallen."""
    write_cards(tmp_path, ["occlusion"])
    assert json.loads((tmp_path / "occlusion.json").read_text())["shown"]["every"] == 2
    clips = np.stack([clip.frames[98] for clip in make_world("occlusion").clips(0, "test", range(4))])
    last = iio.imread(tmp_path / "occlusion.gif")[-1]
    panels = [last[14 : 14 + 128 : 2, left : left + 128 : 2] for left in range(14, 4 * (128 + 14), 128 + 14)]
    assert np.array_equal(panels, clips)
    assert len(np.unique(clips, axis=0)) > 1


def test_the_gallery_shows_every_world():
    page = (CARDS.parent / "README.md").read_text()
    assert {preset.world for name, preset in DATASETS.items() if f"cards/{name}.gif" in page} == {
        preset.world for preset in DATASETS.values()
    }
    assert all((CARDS.parent / path).exists() for path in re.findall(r"\]\(([^)]+)\)", page))


@pytest.mark.slow
def test_the_committed_films_are_what_is_made_now(tmp_path):
    """When this fails: `videopred cards --overwrite`. Frames are compared, because writers of GIF differ."""
    write_cards(tmp_path)
    for path in sorted(tmp_path.glob("*.gif")):
        assert np.array_equal(iio.imread(path), iio.imread(CARDS / path.name)), path.stem
