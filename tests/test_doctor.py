"""What the doctor says of this machine: what is there, what is missing with its command, and whether the flow works."""

import json
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import run
from packaging.requirements import Requirement

from videopred import doctor, self_test
from videopred.eval.perceptual import TRUNKS
from videopred.training.loggers import LOGGERS

SECTIONS = ["versions", "machine", "devices", "folders", "optional parts", "self test on cpu"]


def test_a_machine_that_works(tmp_path, monkeypatch, capfd):
    """Nothing is left behind, and nothing stands on stderr."""
    monkeypatch.chdir(tmp_path)
    assert run("doctor --device cpu") == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert [line for line in out.splitlines() if not line.startswith(" ")] == SECTIONS
    assert out.count("  works, ") == len(self_test.tiny_flow(tmp_path, "cpu"))
    assert list(tmp_path.iterdir()) == []


def test_json_without_the_self_test(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert run("doctor --no-self-test --json") == 0
    found = json.loads(capfd.readouterr().out)
    assert list(found) == [*SECTIONS[:-1], "faults"]
    assert found["faults"] == []
    assert set(doctor.LIBRARIES) < set(found["versions"])


def test_folders_that_cannot_be_written_are_faults(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("eval").write_text("a file where a folder is wanted")
    Path("models").symlink_to(tmp_path / "a disk that is away" / "models")
    assert run("doctor --no-self-test --device cpu") == 1
    out, err = capfd.readouterr()
    assert "eval       cannot be written: Not a directory" in out
    assert "models     cannot be written: No such file or directory" in out
    assert "videopred: the folder models must be one to write to, got " in err
    assert "work in another folder" in err


def test_no_place_for_temporary_files_is_a_fault_and_there_is_no_self_test(tmp_path, monkeypatch, capfd):
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:  # not until capfd has put its own away
        patch.setattr("tempfile.gettempdir", none)
        assert run("doctor --device cpu") == 1
    out, err = capfd.readouterr()
    assert "temporary  none can be written" in out
    assert "self test" not in out
    said = "a folder for temporary files must be there, got No usable temporary directory found in ['/tmp']; free some"
    assert said in err


@pytest.mark.parametrize(
    ("what", "broken", "told"),
    [
        ("train", lambda *_, **__: 1 / 0, "ZeroDivisionError: division by zero"),
        ("evaluate", lambda *_, **__: SimpleNamespace(mean=lambda *_: float("nan")), "be a finite number, got nan"),
    ],
)
def test_a_flow_that_breaks_is_a_fault_and_goes_no_further(tmp_path, monkeypatch, capfd, what, broken, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(self_test, what, broken)
    assert run("doctor --device cpu") == 1
    out, err = capfd.readouterr()
    assert "failed: " in out
    assert told in out
    assert told in err
    assert "VIDEOPRED_TRACEBACK=1" in err
    assert "pictures" not in out


def test_all_of_the_flow_is_tried_on_the_device_that_is_asked_for(tmp_path, monkeypatch):
    tried, scores = [], SimpleNamespace(mean=lambda *_: 0.25)
    monkeypatch.setattr(self_test, "train", lambda *_, device, **__: tried.append(("train", device)))
    monkeypatch.setattr(self_test, "load_run", lambda run, device: device)
    for name in ("evaluate", "render"):
        monkeypatch.setattr(self_test, name, lambda device, *_, name=name, **__: tried.append((name, device)) or scores)
    rows = self_test.run_steps(self_test.tiny_flow(tmp_path, "mps"), [])
    assert all(told.startswith("works, ") for told in rows.values())
    assert tried == [("train", "mps"), ("evaluate", "mps"), ("render", "mps")]


def test_a_step_is_said_to_take_the_time_between_its_ends(monkeypatch):
    monkeypatch.setattr(self_test, "perf_counter", iter([3.0, 4.5]).__next__)
    assert self_test.run_steps({"one": lambda: None}, []) == {"one": "works, 1.5 s"}


def test_with_traceback_a_failing_step_shows_where(monkeypatch):
    monkeypatch.setenv("VIDEOPRED_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        self_test.run_steps({"one": lambda: 1 / 0}, [])


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("kornia", None, "kornia must be installed, >=0.9, got none; install it, as `pip install .` in the clone does"),
        (
            "lightning",
            "2.6.3",
            "lightning must be installed, >=2.6.4, got 2.6.3; install it, as `pip install .`",
        ),
    ],
)
def test_libraries_that_are_missing_or_too_old_are_faults(tmp_path, monkeypatch, capfd, name, there, said):
    def version(library: str) -> str:
        if library == name and there is None:
            raise PackageNotFoundError(library)
        return there if library == name else metadata.version(library)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "version", version)
    assert run("doctor --no-self-test") == 1
    out, err = capfd.readouterr()
    assert [line.split()[1] for line in out.splitlines() if line.strip().startswith(name)] == [there or "none"]
    assert err.startswith(f"videopred: {said}")


@pytest.mark.parametrize(
    "error", [ImportError("no lightning"), RuntimeError("operator torchvision::nms does not exist")]
)
def test_a_library_that_is_missing_or_does_not_fit_stops_the_self_test_alone(tmp_path, monkeypatch, capfd, error):
    needing = ("videopred.self_test", "videopred.eval.perceptual")

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name in needing:
                raise error

    monkeypatch.chdir(tmp_path)
    for module in needing:
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert run("doctor --device cpu") == 1
    out, err = capfd.readouterr()
    assert f"libraries  failed: {error}" in out
    assert f"weights of LPIPS  not looked for: {error}" in out
    assert err.startswith(f"videopred: the self test must find its libraries, got {error}; mend them first")


def test_parts_that_are_missing_come_with_the_command_that_adds_them(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda library: None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = doctor.examine(device="cpu", self_test=False).rows["optional parts"]
    assert set(doctor.OPTIONAL_LIBRARIES) < set(rows)
    for name, told in rows.items():
        assert told.startswith("missing, for `"), name
        assert any(command in told for command in ("pip install ", "apt-get install ", "python -c ")), name


def test_parts_that_are_there_are_said_to_be(tmp_path, monkeypatch):
    weights = tmp_path / "hub/checkpoints" / TRUNKS["alex"].file
    weights.parent.mkdir(parents=True)
    weights.touch()
    compiler = tmp_path / "g++"
    compiler.touch(mode=0o755)
    monkeypatch.setattr(doctor, "find_spec", lambda library: object())
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = doctor.examine(device="cpu", self_test=False).rows["optional parts"]
    assert rows["C++ compiler"].startswith("does not run, for `train --compile inductor`: apt-get install g++")
    compiler.write_text("#!/bin/sh\n")
    rows = doctor.examine(device="cpu", self_test=False).rows["optional parts"]
    assert all(told.startswith("found, for `") for told in rows.values())


def test_every_logger_is_a_part():
    parts = {part.library for part in doctor.OPTIONAL_LIBRARIES.values()}
    assert {service.library for service in LOGGERS.values()} < parts


def test_a_device_that_is_none_is_a_usage_error(capfd):
    assert run("doctor --device gpu") == 2
    assert "--device must" in capfd.readouterr().err


@pytest.mark.parametrize(("there", "fits"), [("2.11.0a0+abc.nv26", True), ("2.10.9", False), ("unknown", False)])
def test_builds_of_vendors_fit_and_what_is_no_version_does_not(there, fits):
    assert doctor._fits(there, Requirement("torch>=2.11")) is fits


def test_what_is_merely_optional_is_no_fault(monkeypatch):
    monkeypatch.setattr(doctor, "requires", lambda name: ["torch>=2", 'nowhere>=1; extra == "video"'])
    assert doctor._misfits() == []
    monkeypatch.setattr(doctor, "requires", lambda name: ["torch>=2", "nowhere>=1"])
    [told] = doctor._misfits()
    assert told.startswith("nowhere must be installed, >=1, got none; install it")
