"""What tests of commands share: words that make small things, and how to run them."""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import CODEC, CORE_SIZES, FRAMES, HEIGHT, WIDTH

from videopred.cli import main

SIZES = f"--frames {FRAMES} --height {HEIGHT} --width {WIDTH}"
CLIPS = "--clips train=12 validation=3 test=5"
SMALL = {
    "balls4": "--balls 2",
    "curtain": "--curtain 9 11",
    "sm-mnist": "--digit-size 14 --digits 1 2",
    "sm-mnist-svg": "--digit-size 12 --digits 3",
    "srivastava": "--digit-size 11 --speed 2.5",
    "motion3": "--radius 1.5",
    "switching": "--radius 1.5",
    "occlusion": "--frames 30",
}
"""Flags that fit a preset into small frames; a new preset gets a line if it needs one."""
LEARNING = "--updates 2 --batch-size 4 --validate-every 1 --device cpu"


def run(words: str) -> int:
    """The exit status of `videopred` with these words."""
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    return caught.value.code


def defaults_of(words: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The defaults of the command that these words mean, as presets, experiments and runs change them."""
    seen: dict[str, Any] = {}

    def look(command: Any, *anything: Any) -> None:
        seen.update(command.__kwdefaults__)
        raise SystemExit

    monkeypatch.setattr("videopred.flags.read", look)
    run(words)
    return seen


def unasked(err: str) -> str:
    """What stands on stderr besides what a training says as it goes, which its log has too."""
    return "".join(line for line in err.splitlines(keepends=True) if not _LOGGED.match(line))


_LOGGED = re.compile(r".* on cpu: .*\d updates?$|update [\d,]+: validation_\w+ |finished$|[\d,]+ parameters, ")


def written(out: str) -> list[Path]:
    """The files that a command said it wrote; they are there."""
    paths = [Path(line.removeprefix("wrote ")) for line in out.splitlines() if line.startswith("wrote ")]
    for path in paths:
        assert path.exists(), path
    return paths


def on_a_terminal(words: str, **environment: str) -> str:
    """What `videopred` prints on a terminal."""
    import pty  # which Windows has not

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "videopred", *words.split()]
    usual = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**usual, "TERM": "xterm", "COLUMNS": "100", **environment}
    shown = bytearray()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment), suppress(OSError):
        os.close(theirs)
        while piece := os.read(ours, 2**16):  # at the end Linux has an error
            shown += piece
    os.close(ours)
    return shown.decode()


_LOADED = """
import contextlib, io, json, sys
from videopred.cli import main
told = {}
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main(words.split())
        except SystemExit as end:
            status = end.code
    heavy = {"torch", "numpy", "h5py", "lightning", "matplotlib", "kornia", "imageio", "PIL"} & set(sys.modules)
    told[words] = [status, sorted(heavy)]
print(json.dumps(told))
"""


def loaded_by(asked: list[str], folder: Path | None = None) -> dict[str, list[Any]]:
    """Words, run one after another in a process of their own -> their exit status, and the heavy modules then there."""
    command = [sys.executable, "-c", _LOADED]
    done = subprocess.run(command, input=json.dumps(asked), cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def core_flags(core: str) -> str:
    values = {name: value if isinstance(value, tuple) else (value,) for name, value in CORE_SIZES[core].items()}
    sizes = " ".join(f"--core.{name.replace('_', '-')} {' '.join(map(str, value))}" for name, value in values.items())
    codec = f"--codec.channels {' '.join(map(str, CODEC.channels))} --codec.embedding {CODEC.embedding}"
    return f"--core {core} {sizes} {codec}"
