"""The page in a browser: it is drawn, its clips move, nothing is complained of, and nothing is asked of a network."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tiny_runs import tiny_data, tiny_model, tiny_training

from videopred import training
from videopred.report.page import write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium to open the page with: apt-get install -y --no-install-recommends chromium",
    ),
]
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
]


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


def picture(page: Path, folder: Path, budget_ms: int, width: int = 900) -> np.ndarray:
    out = folder / f"{budget_ms}-{width}.png"
    browse(page, folder, f"--virtual-time-budget={budget_ms}", f"--window-size={width},1500", f"--screenshot={out}")
    return np.asarray(Image.open(out).convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    run = training.train(tiny_data(folder / "two.h5"), tiny_model("rims"), tiny_training(), out=folder / "rims")
    return write_report([run], folder / "page.html", results=folder)


def test_it_is_drawn_and_nothing_is_complained_of_or_asked_for(page, tmp_path):
    dom, console, asked = browse(page, tmp_path, "--dump-dom")
    assert dom.count("<figure") > 3
    assert "What it predicts" in dom
    assert console == ""
    assert [address for address in asked if not address.startswith("data:")] == []


def test_a_page_that_complains_and_asks_is_found(tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<script>console.error("sorry")</script><img src="http://127.0.0.1:9/a.png">')
    _, console, asked = browse(bad, tmp_path, "--dump-dom")
    assert "sorry" in console
    assert "http://127.0.0.1:9/a.png" in asked


def test_the_clips_move(page, tmp_path):
    first, *others = (picture(page, tmp_path, budget) for budget in (500, 1200, 2500))
    assert any((first != other).any() for other in others)  # one alone may show the same frame, some rounds later
    assert np.ptp(first) > 200  # it is no empty sheet


def test_nothing_sticks_out_on_a_phone(page, tmp_path):
    frame = tmp_path / "phone.html"
    measure = "const d = it.contentDocument.documentElement; document.title = d.scrollWidth + ' of ' + d.clientWidth"
    inside = f'<iframe id="it" src="{page.as_uri()}" style="width:390px;height:800px"></iframe>'
    frame.write_text(f"{inside}<script>onload = () => {{ {measure} }}</script>")
    dom, _, _ = browse(frame, tmp_path, "--allow-file-access-from-files", "--virtual-time-budget=2000", "--dump-dom")
    wide, there = map(int, re.findall(r"<title>(\d+) of (\d+)</title>", dom)[0])
    assert wide <= there <= 390
