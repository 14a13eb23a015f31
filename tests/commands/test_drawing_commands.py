"""`render`: which clips and rows are drawn, into which files, and several models together."""

from pathlib import Path

import imageio.v3 as iio
import pytest
from command_line import run, written


def test_several_models_are_drawn_beside_one_another_under_their_names(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = f"render {place / 'gru'} {place / 'rims'} {place / 'balls4.h5'} --clips 1"
    assert run(f"{words} --names gru=GRU") == 0
    results = Path("eval/gru-and-1-more/balls4")
    assert written(capfd.readouterr().out) == [results / "test-1.gif", results / "test-1.png"]
    assert run(f"render {place / 'gru'} {place / 'balls4.h5'} --clips 1 --rows truth,pred --out alone") == 0
    both, alone = (iio.imread(path) for path in (results / "test-1.png", "alone/test-1.png"))
    assert both.shape[0] > alone.shape[0]  # a row more
    assert run(f"{words} --figure strip --out here") == 0
    shown = Path("here/test-1-strip.svg").read_text()
    assert "<!-- gru -->" in shown
    assert run(f"{words} --figure strip --out here --overwrite --names gru=GRU rims=RIMs") == 0
    shown = Path("here/test-1-strip.svg").read_text()
    assert "<!-- GRU -->" in shown
    assert "<!-- RIMs -->" in shown


def test_rows_clips_and_files_of_pictures_can_be_chosen(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("from videopred.eval.pixel import MSE\n\n\nclass Mine(MSE):\n    pass\n")
    words = f"render {place / 'rims'} {place / 'balls4.h5'} --context 3 --horizon 4"  # neither is the data's
    for more, names in {
        "--random 2 --seed 3 --rows modules,attention,boxes,overlay --format png --out a": 2,
        "--worst 1 --by f1 --first 4 --format gif mp4 --frame-ms 50 --out b": 2,
        "--best 2 --by mine:Mine --format png --out i": 2,
        "--clips 2 --out c/d.mp4 --rows pred": 1,
        "--best 1 --out c/e.png --rows truth": 1,
        "--clips 1 3 --figure activation --out f": 6,
        "--clips 1 --figure strip --out f/one.svg": 1,
        "--clips 1 --figure strip --out f/one.pdf": 1,
        "--clips 1 2 --figure mask-out --out h": 3,
        "--clips 1 --without 0 --freeze 1 --swap 2,3 --from-step 2 --format png --out g": 1,
    }.items():
        assert run(f"{words} {more}") == 0, more
        out, err = capfd.readouterr()
        assert (len(written(out)), err) == (names, "")
    assert sorted(path.suffix for path in Path("b").iterdir()) == [".gif", ".mp4"]
    assert iio.immeta("c/d.mp4", plugin="pyav")["duration"] == pytest.approx(0.7)


def test_clips_of_another_part_can_be_drawn(place, tmp_path, capfd):
    words = f"render {place / 'gru'} {place / 'balls4.h5'} --clips 2 --format png --out {tmp_path}"
    for part in ("validation", "test"):
        assert run(f"{words} --part {part}") == 0
        assert written(capfd.readouterr().out) == [tmp_path / f"{part}-2.png"]
    one, other = (iio.imread(tmp_path / f"{part}-2.png") for part in ("validation", "test"))
    assert not (one == other).all()
