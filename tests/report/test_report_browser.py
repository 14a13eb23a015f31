"""The page in a browser: it is drawn, its clips move, nothing is complained of, and nothing is asked of a network."""

import base64
import io
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from browser import CHROMIUM, QUIET, opened
from PIL import Image
from report_samples import LOG, ONE, made_up_run, scored
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred.eval import make_metric
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.report.page import write_report
from videopred.training.run import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium to open the page with: apt-get install -y --no-install-recommends chromium",
    ),
]
FILM = re.compile('class="film" src="data:image/gif;base64,([^"]+)"')


def browse(page: Path, folder: Path, *words: str) -> tuple[str, str, list[str]]:
    """What Chromium prints of a page, what its console said, and the addresses that the page asked for."""
    log = folder / "net.json"
    done = subprocess.run(
        [str(CHROMIUM), *QUIET, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", *words, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    # A line for each event. What the browser asks on its own behalf has no origin, and is no matter of the page.
    events = [line for line in log.read_text().splitlines() if '"initiator":' in line and "not an origin" not in line]
    asked = [address for line in events for address in re.findall(r'"url":"([^"]+)"', line)]
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line), asked


def pictures_seen(page: Path, folder: Path, enough: int, most: int) -> int:
    """How many different pictures the first film of a page shows, until there are enough of them or most looks."""
    with opened(page, folder) as tab:
        tab.evaluate("document.querySelector('img.film').scrollIntoView()")
        tab.evaluate("document.querySelector('img.film').decode()")
        seen: set[bytes] = set()
        for _ in range(most):
            picture = tab.picture()
            seen.add(picture.tobytes())
            if len(seen) == enough:
                break
        assert np.ptp(picture) > 200  # it is no empty sheet
        return len(seen)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    run = train(tiny_data(folder / "two.h5"), tiny_model("rims"), tiny_training(), out=folder / "rims", device="cpu")
    return write_report([run], folder / "page.html", results=folder)


def test_it_is_drawn_and_nothing_is_complained_of_or_asked_for(page, tmp_path):
    dom, console, asked = browse(page, tmp_path, "--dump-dom")
    assert dom.count("<figure") > 3
    assert "Predictions" in dom
    assert console == ""
    assert [address for address in asked if not address.startswith("data:")] == []


def test_a_page_that_complains_and_asks_is_found(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<script>console.error("sorry")</script><img src="http://127.0.0.1:9/a.png">')
    _, console, asked = browse(bad, tmp_path, "--dump-dom")
    assert "sorry" in console
    assert "http://127.0.0.1:9/a.png" in asked


MOVING = 4
"""Pictures that differ, of a film that plays. One that stands still may give two, one of them before it is drawn."""


def test_the_clips_move(page, tmp_path):
    assert pictures_seen(page, tmp_path, MOVING, most=1000) == MOVING  # looks, not seconds: a busy machine takes longer


def test_a_clip_that_stands_still_is_found(page, tmp_path):
    still = tmp_path / "still.html"
    content = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(FILM.search(page.read_text())[1]))) as film:
        film.convert("RGB").save(content, "gif")  # its first frame
    one = base64.b64encode(content.getvalue()).decode()
    still.write_text(FILM.sub(f'class="film" src="data:image/gif;base64,{one}"', page.read_text()))
    assert pictures_seen(still, tmp_path, MOVING, most=25) < MOVING


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two runs whose names are longer than a screen of a phone is wide."""
    folder = tmp_path_factory.mktemp("two")
    runs = [made_up_run(folder / (letter * 85), LOG) for letter in "ab"]
    for run in runs:
        scored(**ONE).save(folder / "eval" / run.name / "a")
    return write_report(runs, folder / "page.html", results=folder / "eval")


ON_PAPER = """[...document.querySelectorAll('table')].map(one => [
    one.getBoundingClientRect().right - document.querySelector('section').getBoundingClientRect().right,
    one.parentElement.scrollWidth - one.parentElement.clientWidth,
    getComputedStyle(one.parentElement).overflowX])"""
"""How far each table reaches beyond its section, how much of it must be scrolled to, and whether that can be done."""
A4_PX = 718
"""Width of A4 between margins of 10 mm, at 96 px an inch."""


def test_no_table_is_cut_off_on_paper(tmp_path):
    folder, names = tmp_path / "models" / "gru", ("mse", "psnr", "mae", "ssim", "f1", "bce", "precision", "iou")
    run = made_up_run(folder, LOG)
    predicted, true = np.random.default_rng(0).random((2, 5, 3, 1, 16, 24))
    films = [torch.from_numpy(film) for film in (predicted, (true > 0.8) * 1.0)]
    metrics = {name: make_metric(name) for name in names}
    measured = {
        name: {key: of.numpy() for key, of in metric.measure(*films).items()} for name, metric in metrics.items()
    }
    protocol = Protocol(context=2, horizon=3, metrics=names, clips=5)
    Scores(
        measurements={"model": measured, "copy last calibrated": measured}, metrics=metrics, file="a.h5",
        fingerprint="1", reference=None, protocol=protocol, models=("model",),
    ).save(tmp_path / "eval" / "gru" / "a")  # fmt: skip
    page = write_report([run], tmp_path / "page.html", results=tmp_path / "eval")
    with opened(page, tmp_path) as tab:
        on_screen = tab.evaluate(ON_PAPER)
        tab.ask("Emulation.setEmulatedMedia", media="print")
        tab.ask("Emulation.setDeviceMetricsOverride", width=A4_PX, height=1000, deviceScaleFactor=1, mobile=False)
        printed = tab.evaluate(ON_PAPER)
    assert [one[2] for one in on_screen] == ["auto"] * len(printed)  # where it can be scrolled, it may be wide
    for beyond, hidden, overflow in printed:
        assert beyond <= 0
        assert hidden <= 0
        assert overflow == "visible"


@pytest.mark.parametrize("which", ["page", "two"])
def test_nothing_sticks_out_on_a_phone(which, tmp_path, request):
    page = request.getfixturevalue(which)
    frame = tmp_path / "phone.html"
    measure = "const d = it.contentDocument.documentElement, captions = [...d.querySelectorAll('caption')];"
    measure += "const wide = captions.map(one => Math.ceil(one.getBoundingClientRect().left + one.scrollWidth));"
    measure += "document.title = Math.max(d.scrollWidth, ...wide) + ' of ' + d.clientWidth"
    inside = f'<iframe id="it" src="{page.as_uri()}" style="width:390px;height:800px"></iframe>'
    frame.write_text(f"{inside}<script>onload = () => {{ {measure} }}</script>")
    dom, _, _ = browse(frame, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=2000", "--dump-dom")
    wide, there = map(int, re.findall(r"<title>(\d+) of (\d+)</title>", dom)[0])
    assert wide <= there <= 390


def test_a_strip_on_a_phone_keeps_its_size_and_scrolls_in_its_box(page, tmp_path):
    """Shrunk to 390 px, its frames would be too small to see."""
    frame = tmp_path / "phone.html"
    measure = "const s = it.contentDocument.querySelector('img.strip'), b = s.parentElement; document.title = "
    measure += "[s.width, s.naturalWidth, b.scrollWidth > b.clientWidth].join(' ')"
    inside = f'<iframe id="it" src="{page.as_uri()}" style="width:390px;height:800px"></iframe>'
    frame.write_text(f"{inside}<script>onload = () => {{ {measure} }}</script>")
    dom, _, _ = browse(frame, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=2000", "--dump-dom")
    drawn, natural, scrolls = re.findall(r"<title>(\d+) (\d+) (\w+)</title>", dom)[0]
    assert int(drawn) == int(natural) > 390
    assert scrolls == "true"
