"""One clear line for whatever is wrong with a command, and its exit status."""

import gc
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import LEARNING, SIZES, SMALL, core_flags, on_a_terminal, run, unasked
from tiny_runs import FRAMES, no_file_longer_than, tiny_data

from videopred.cli import COMMANDS
from videopred.datasets import DATASETS, open_dataset
from videopred.datasets.generation import generate
from videopred.datasets.settings import BallsConfig
from videopred.models import CORES
from videopred.models.presets import PRESETS

NAMED = (*CORES, *PRESETS, "MODULE:CLASS")
"""What CORE may be."""

BAD = {
    "frobnicate": f"COMMAND must be one of {', '.join(COMMANDS)}, got frobn",
    "generat": "got generat; did you mean generate?",
    "bench cores --cores gru": "--cores must be one of rims, brims, scoff, got gru; choose one of these",
    "bench core --repeats 1": "bench scores, bench train, got bench core; did you mean bench cores?",
    "plot models/a": f"COMMAND must be one of {', '.join(COMMANDS)}, got plot; did you mean render?",
    "--verbose": f"COMMAND must be one of {', '.join(COMMANDS)}, got --verb",
    "generate ball4": f"PRESET must be one of {', '.join(DATASETS)}, got ball4; did you mean balls4?",
    "generate --seed 3 balls4": "PRESET must come before the options, got --seed; put PRESET first, as in",
    "generate motion3 --modes constant --turn 3": "--turn must be left out with --modes constant, got 3.0; it changes",
    "generate balls4 --clips train": "--clips must be PART=COUNT with a whole number, got train; write e.g. --clips",
    "generate balls4 --clips train=-3": "--clips must be PART=COUNT with a whole number, got train=-3; write",
    "generate balls4 --clips train=²": "--clips must be PART=COUNT with a whole number, got train=²; write",
    "generate balls4 --clips training=3": "--clips must be one of train, validation, test, got training; did you mea",
    "generate balls4 --clips train=0": "--clips must ask for at least one clip, got 0; try --clips train=100 test=10",
    "generate balls4 --clips train=5 train=6": "--clips must name each part once, got train=6; leave one of them out",
    "generate balls4 --frames 10000000000000000000": "--frames must be at most 1,000,000,000, got 100000000000",
    "generate balls4 --clips train=9 test=100000000": "--clips must be at most 100,000,000 in all, got train=9 test=1",
    "generate balls4 --out clips.hdf5": "--out must be a folder, or a file that ends in .h5, got clips.hdf5; rename it",
    "evaluate {gru} {data} --metrics f1 f1": "--metrics must name each once, got f1 twice; leave one out",
    "render {gru} {data} --clips 1 1": "--clips must name each once, got 1 twice; leave one out",
    "generate balls4 --clips": "--clips must ask for at least one clip, got 0; try --clips train=100 test=10",
    "generate balls4 --seed 18446744073709551616": "--seed must be below 2**64, got 18446744073709551616; choose",
    "generate sm-mnist --mnist nowhere": "--mnist must hold train-images-idx3",
    "train {data} --core gruu": f"--core must be one of {', '.join(NAMED)}, got gruu; did you mean gru?",
    "train {data} --core=gruu": f"--core must be one of {', '.join(NAMED)}, got gruu; did you mean gru?",
    "train {data} --core gru --core.modules 3": "--core.modules must be a setting of gru, got one of rims",
    "train {data} --core lstm --core.no-comm": "--core.no-comm must be a setting of lstm, got one of rims",
    "train {data} --core lstm-balls --core.active=3": "--core.active must be a setting of lstm-balls, got one of rims",
    "train {data} --decoder.queries 3": "--decoder.queries must be a setting of shared, got one of files; leave it out",
    "train {data} --core gone:Core": "core gone:Core must be importable, got ModuleNotFoundError: No module named 'go",
    "check-core gruu": f"CORE must be one of {', '.join(NAMED)}, got gruu; did you mean gru?",
    "check-core --json gruu": "CORE must come before the options, got --json; put CORE first, as in",
    "check-core gru --core.modules 3": "--core.modules must be a setting of gru, got one of rims",
    "train {data} --codec vgg": "--codec must be one of rnem, mila, MODULE:CLASS, got vgg; choose one of these",
    "train {data} --decoder mask": "--decoder must be one of shared, files, masks, MODULE:CLASS, got mask; did you",
    "train odd.h5 --codec mila": "frame height must be a multiple of 8 from 24 on for --codec mila, got 16; generate",
    "train {data} --core rims --core.no-comm --core.comm-topk 2": "--core.comm-topk must be left out with --core.no-c",
    "train rims-balls4 --core.no-comm --core.no-comm-gate": "--core.comm-gate must be left out with --core.no-comm",
    "train {data} --core scoff --core.frozen_schema --core.temperature=2": "--core.temperature must be left out with -",
    "train {data} --core gru --codec.positions coord4": "--codec.positions must come with a core that reads a map, got",
    "train {data} --core.reads maps --codec.positions coord4": "got maps; did you mean map?",
    "train {data} --core scoff --decoder masks --codec.embedding 9": "--codec.embedding must be left out with -",
    "train {data} --core scoff --codec mila --codec.embedding 9": "--codec.embedding must be left out with -",
    "check-core rims --core.no-comm --core.comm-heads 2": "--core.comm-heads must be left out with --core.no-comm",
    "train gone.h5": "DATA must be an existing file, got gone.h5 (nothing there); make one with `videopred generate",
    "train balls4.h5": "got balls4.h5 (nothing there); make one with `videopred generate balls4`",
    "train gone": "DATA must be a data file, or a name that `videopred list` shows, got gone (nothing there); make one",
    "train scoff-balls5": "got scoff-balls5 (nothing there); did you mean scoff-balls4? Or make one with `videopred ge",
    "train scoff-balls5 --scale tiny": "got scoff-balls5 (nothing there); did you mean scoff-balls4? Or make one with",
    "train ball4 --dry-run": "got ball4 (nothing there); did you mean balls4? Or make one with `videopred generate NA",
    "train ood.h5": "got ood.h5 (nothing there); did you mean odd.h5? Or make one with `videopred generate NAME`",
    "train gone.json": "be an existing file, got gone.json (nothing there); write one with `videopred train rims-b",
    "train my&own.json": "write one with `videopred train rims-balls4 --write 'my&own.json'`",
    "train rims-crops.json": "(nothing there); write one with `videopred train rims-crops --write rims-crops.json`",
    "evaluate {data} {data}": "balls4.h5, a data file; give a folder that `videopred train` wrote, as `videopred runs`",
    "evaluate brokn {data}": "got brokn (nothing there); did you mean broken? Or give a folder that `videopred train`",
    "train {data} --init-from brokn": "--init-from must be a run folder with a settings.json, got brokn (nothing",
    "train rims-balls4 --init-from gone": "--init-from must be a run folder with a settings.json, got gone (",
    "train rims-balls4 --seeds 0 1 2": "be among those of --help, got 1 2; put commas between seeds: --seeds 0,1,2",
    "train --seeds 0 1 2 rims-balls4.json": "got 2 rims-balls4.json; put commas between seeds: --seeds 0,1,2",
    "train --seeds 0 1": "`videopred list` shows, got 1 (nothing there); put commas between seeds: --seeds 0,1",
    "train rims-balls4 --seeds 0,1 --sede 7": "be among those of --help, got --sede 7; did you mean --seed?",
    "train rims-balls4 --seeds 0,x": "--seeds must be whole numbers with commas between them, got 0,x; write",
    "train rims-balls4 --scale tiny --seeds 1,2 --seed 3": "--seed must be left out with --seeds, got 3; leave one out",
    "train .": "DATA must be a data file or a folder of shards, got . (a folder without any); name one of its files, s",
    "train cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "train foreign.h5": "DATA must be a whole, undamaged HDF5 file, got foreign.h5 (",
    "train other.h5": "DATA must hold some of the groups training, validation, test, got none of them in other.h5",
    "train odd.h5": "frame width must be a multiple of 8 for 3 halvings, got 20; generate frames of such a width, or",
    "train testonly.h5": "DATA must hold a training part, got testonly.h5 without one; generate some with",
    "train {data} --batch-size 13": "--batch-size must be at most 12, the clips left to learn from, got 13; lower it",
    "train {data}": "--batch-size must be at most 12, the clips left to learn from, got 64; lower it",
    "train {data} --device tpu": "--device must be one of auto, cpu, cuda, mps, got tpu; did you mean cpu?",
    "train {data} --device cuda:99": "--device must be a device of this machine, which has ",
    "train {data} --device cpu:00": "--device must have a number behind its colon, got cpu:00; write e.g. cuda:0",
    "train {data} --device cuda:": "--device must have a number behind its colon, got cuda:; write e.g. cuda:0",
    "train {data} --device auto:1": "--device must be one of auto, cpu, cuda, mps, got auto:1; did you mean auto?",
    "train {data} --batch-size 4 --free-running 8": "--free-running must be at most 7, so that of 9 frames one is gi",
    "evaluate {gru} {data} --metrics bce msse": "--metrics must be one of bce, bce-mean, mse, mse-sum, ",
    "evaluate {gru} {data} --context 5 --horizon 5": "--context plus --horizon must be at most 9, the frames of a c",
    "evaluate {gru} {data} --context 0": "--context must be at least 1, got 0; give at least one frame to start from",
    "evaluate {gru} {data} --first 6": "--first must be at most 5, the clips of the test part, got 6; lower it, or",
    "evaluate {gru} {data} --first 0": "--first must be at least 1, got 0; score at least one clip",
    "evaluate {gru} {data} --batch-size 0": "--batch-size must be at least 1, got 0; give at least one clip",
    "evaluate {gru} odd.h5": "odd.h5 must hold frames of 1 x 24 x 32 (channels x height x width), which the model was",
    "evaluate {gru} {data} --reference testonly.h5": "--reference must have a train part, got testonly.h5 (which",
    "evaluate {gru} cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "evaluate gone {data}": "got gone (nothing there); give a folder that `videopred train` wrote",
    "evaluate mixed {data}": "best.ckpt must be of the model in settings.json, with core gru, got core rims; put back",
    "evaluate broken {data}": "best.ckpt must be a whole checkpoint, got something else; delete it before",
    "rollout {gru} {data} --context 9": "--context plus --horizon must be at most 9, the frames of a clip, got 9 + 5",
    "rollout {gru} {data} --first 6": "--first must be at most 5, the clips of the test part, got 6; lower it",
    "rollout {gru} {data} --out r.npz --trace a/../r.npz": "--trace must be another file than --out, got a/../r.npz;",
    "rollout {gru} odd.h5 --first 2": "odd.h5 must hold frames of 1 x 24 x 32 (channels x height x width), which",
    "rollout {gru} {data} --feedback true": "--feedback must be soft, threshold:0.5 or sample, got true; `videopred",
    "evaluate {gru} {data} --feedback hard": "--feedback must be one of soft, threshold:0.5, sample, true, got hard",
    "rollout {gru} {data} --feedback hard": "--feedback must be one of soft, threshold:0.5, sample, got hard",
    "rollout {rims} {data} --from-step 2": "--from-step must be left out without an intervention, got 2; give --",
    "rollout {rims} {data} --horizon 4 --without 0 --from-step 5": "--from-step must be at most 4, the steps of the",
    "rollout {rims} {data} --without 9": "--without must lie in 0 to 3, the modules of this rims, got 9; choose one of",
    "rollout gone {data}": "RUN must be a run folder with a settings.json, got gone (nothing there); give a folder",
    "render {gru}": "RUN and DATA must be given, got ",
    "render {gru} {rims} {data} --without 0": "--without must be left out with several runs or films, got both",
    "render {gru} {rims} {data} --figure activation": "--figure must be strip with several runs or films, got act",
    "generate motion3 --modes walk walk": "--modes must name each once, got walk twice; leave one out",
    "generate motion3 --modes walk --acceleration 0.1 0.2": "--acceleration must be left out with --modes walk, got 0.",
    "generate balls4 --balls 4 5 4": "--balls must name each once, got 4 twice; leave one out",
    "generate sm-mnist --digits 2 2": "--digits must name each once, got 2 twice; leave one out",
    "generate occlusion --blocks O1 O1": "--blocks must name each once, got O1 twice; leave one out",
    "evaluate {gru} {data} --means 5 3 5": "--means must name each once, got 5 twice; leave one out",
    "evaluate {gru} {data} --means 0": "--means must be between 1 and ",
    "evaluate {gru} {gru} {data}": "RUN must be given once each, got ",
    "evaluate {gru} {data} --metrics --first 1": "--metrics must have a value, got none; give one, or leave it out",
    "rollout {rims} {data} --without": "--without must have a value, got none; give one, or leave it out",
    "evaluate {gru} {data} --reference gone.h5": "--reference must be an existing file, got gone.h5",
    "report {gru} --rows truth,changed": "--rows must be of runs as they are, got changed; draw it with `videopred r",
    "render {gru} {gru}/../gru {data}": "RUN must be given once each, got ",
    "render {data} {gru}": "gru, a run; put the data behind all runs",
    "evaluate {data} {gru}": "gru, a run; put the data behind all runs",
    "evaluate {gru} {data} --out testonly.h5/x": "--out must be a path that can be written, got testonly.h5/x",
    "rollout {gru} {data} --trace testonly.h5/t.npz": "testonly.h5 is no folder; choose another place",
    "evaluate {data} seeds": "seeds, a run; put the data behind all runs",
    "render {gru} {data} --names gru=GRU": "--names must be given with several runs, got gru=GRU; leave it out",
    "render {gru} {rims} {data} --names gur=GRU": "--names must be one of gru, rims, got gur; did you mean gru?",
    "render {gru} {rims} {data} --names gru": "--names must be RUN=NAME, got gru; write e.g. scoff-balls4=SCOFF",
    "render {gru} {rims} {data} --names gru=A rims=A": "--names must tell all runs apart, got A twice; choose another",
    "render {gru} {data} --clips 7": "--clips must lie in 0 to 4, the clips of the part, got 7; choose one",
    "render {gru} {data} --rows truth,prd": "--rows must be one of truth, pred, diff, overlay, modules, attention",
    "render {gru} {data} --rows modules": "--rows must be among truth, pred, diff, overlay, boxes for this",
    "render {gru} {data} --clips 1 --worst 2": "--worst must be left out with --clips, got 2; leave one out",
    "render {gru} {data} --worst 0": "--worst must be at least 1, got 0; ask for at least one clip",
    "render {gru} {data} --best 6": "--best must be at most 5, the clips that have a score by mse, got 6; lower it",
    "render {gru} {data} --worst 1 --by msee": "--by must be one of bce, bce-mean, mse, mse-sum, mae, mae-sum, psnr,",
    "render {gru} {data} --random 3 --first 2": "--random must be at most 2, the clips there are, got 3; lower it",
    "render {gru} {data} --first 6": "--first must be at most 5, the clips of the part, got 6; lower it",
    "render {gru} {data} --out x.jpg": "--out must be a folder, or end in .gif or .mp4 for a film or .png for a strip",
    "render {gru} {data} --clips 0 --out x.gfi": "for a film or .png for a strip, got x.gfi; rename it",
    "render {gru} {data} --out x.gif": "--out must be a folder for several clips, got x.gif; give a folder, or",
    "render {gru} {data} --figure actvation": "strip, strips, activation, activation-position, schemata, communica",
    "render {gru} {data} --figure schemata": "--figure must be among strip for this model and",
    "render {gru} {data} --clips 0 --format png png": "--format must name each once, got png twice; leave one out",
    "render {gru} {data} --clips 0 --out x.gif --format png": "--format must be gif, as --out ends so, got png; leave",
    "render {gru} {data} --without 2 --freeze 2": "--freeze must name no module of --without, got 2; a silenced",
    "render {gru} {data} --without 2 2": "--without must name each once, got 2 twice; leave one out",
    "report {gru} --scores nowhere": "--scores must be an existing file or folder, got nowhere",
    "render {gru} {data} --figure strip --rows pred": "--rows must be left out with --figure, got pred; a figure has",
    "render {gru} {data} --figure strip --out a.gif": "--out must be a folder, or end in .png, .svg or .pdf for a",
    "render {gru} {data} --rows truth,boxes --without 0": "--rows must name any of modules, attention, null, top-do",
    "render {gru} {data} --figure strip --without 0": "--figure must be left out with an intervention, got strip",
    "render {gru} {data} --figure strip --frame-ms 50": "--frame-ms must be left out with --figure, got 50; a figure",
    "render {gru} {data} --from-step 3": "--from-step must be left out without an intervention, got 3; give --without,",
    "render {gru} {data} --context 3 --horizon 5 --without 0 --from-step 6": "--from-step must be at most 5, the steps",
    "render {gru} {data} --clips 0 --by f1": "--by must go with --worst or --best, got f1; leave it out",
    "render {gru} {data} --clips 0 --first 2": "--first must go with --worst, --best or --random, got 2; leave it out",
    "evaluate {gru} {data} --out s.json": "--out must be a folder, got s.json; leave the ending out: the folder",
    "plausibility {gru} {data} --out s.csv": "--out must be a folder, got s.csv; leave the ending out: the folder gets",
    "compare {gru} --out c.png": "--out must be a folder, got c.png; leave the ending out: the folder gets com",
    "evaluate {gru} --context 3 {data}": "/balls4.h5 before all options",
    "evaluate {gru} --metrics mse {data}": "/gru; put both before the options, or give --pred",
    "render {gru} {data} --random 1 --seed -1": "--seed must be at least 0, got -1; give a whole number such as 0",
    "render {gru} {data} --clips 0 --seed 3": "--seed must go with --random, got 3; leave it out",
    "render {gru} {data} --without 0": "RUN must have modules to silence, freeze or swap, got GRU; take a model",
    "render {gru} {data} --schema 0": "--schema must be left out without schemata, got 0 for GRU; take a model",
    "render {gru} {data} --format png --frame-ms 50": "--frame-ms must go with a film, got 50; leave it out for stills",
    "render {gru} {data} --swap 1": "--swap must be two different modules with a comma between them, got 1; write e.g",
    "render {gru} {data} --rows change": "got change; give --without, --freeze, --swap or --schema",
    "render {gru} {data} --frame-ms 10": "--frame-ms must be a multiple of 10, at least 20, for a GIF, got 10; try 100",
    "render {gru} {data} --frame-ms 700000": "--frame-ms must be at most 655350, as GIFs have it, got 700000; try 100",
    "render {gru} {data} --frame-ms 33": "--frame-ms must be a multiple of 10, at least 20, for a GIF, got 33; try 100",
    "render {gru} {data} --clips -1": "--clips must lie in 0 to 4, the clips of the part, got -1; choose one",
    "render {gru} {data} --device tpu": "--device must be one of auto, cpu, cuda, mps, got tpu; did you mean cpu?",
    "import {films} --out x.h5 --axes TBHW": "--axes must name each axis of the array, (9, 24, 32) in",
    "inspect {data} --overwrite": "--overwrite must come with --preview, got it alone; leave it out",
    "import {films} --out x.h5 --height 5": "--height and --width must be given together, got --height 5 alone",
    "import {films} --out x.h5 --array a": "--array must be left out, got a for",
    "import {films} --out x.h5 --every 2": "--every must be left out, got 2 for",
    "import {films} --out x.hdf5": "--out must end in .h5, got x.hdf5; rename it",
    "import gone.npy --out x.h5": "SOURCE must be an existing file or folder, got gone.npy (nothing there); look at",
    "import . --out x.h5": "SOURCE must be one of: .npy; .npz; .h5 or .hdf5; PNG frames in a folder or in folders in",
    "import cut.h5 --out x.h5": "SOURCE must be a whole HDF5 file, got cut.h5 (",
    "import {data} --out x.h5": "a data file; give it to `videopred inspect` or `train` as it is, or name one of its",
    "import {films} --out x.h5 --part test --array train=a": "--part must be left out where --array names parts, got",
    "export": "RUN must be given, got nothing; name a run folder, e.g. models/balls4-rims",
    "export {gru} {gru}": "RUN must be given once each, got ",
    "export {gru} --out there": "--out must end in .safetensors, got there; rename it",
    "export {gru} --checkpoint first": "--checkpoint must be one of best, last, previous, got first; choose",
    "export {gru} --checkpoint last --card": "--checkpoint must be left out with --card, got last; leave it out",
    "export intphys {data} --out films": "DATA must hold clips of the occlusion world, got those of balls4; make some",
    "export intphys gone.h5 --out films": "DATA must be an existing file, got gone.h5 (nothing there); make one with",
    "inspect cut.h5": "DATA must be a whole, undamaged HDF5 file, got cut.h5 (",
    "inspect gone.h5": "DATA must be an existing file, got gone.h5 (nothing there); make one with `videopred genera",
    "inspect {data} --preview p.png": "--preview must end in .gif, got p.png; rename it",
}
"""Words -> part of the one line that says what is wrong."""


@pytest.fixture(scope="module")
def bad_place(place, tmp_path_factory) -> Path:
    """A folder with a file of each kind that will not do."""
    folder = tmp_path_factory.mktemp("bad")
    whole = (place / "balls4.h5").read_bytes()
    (folder / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (folder / "foreign.h5").write_text("time,x,y\n0,1,2\n")
    with h5py.File(folder / "other.h5", "w") as file:
        file["weights"] = np.zeros((3, 4))
    clips = {"train": 80, "test": 2}
    generate("odd", clips, recipe=BallsConfig(frames=FRAMES, height=16, width=20, balls=(2,)), out=folder / "odd.h5")
    tiny_data(folder / "testonly.h5", {"test": 2})
    shutil.copytree(place / "gru", folder / "mixed")
    shutil.copytree(place / "gru", folder / "broken")
    shutil.copy(place / "rims" / "checkpoints" / "best.ckpt", folder / "mixed" / "checkpoints")
    (folder / "broken" / "checkpoints" / "best.ckpt").write_text("hello\n")
    (folder / "seeds").mkdir()
    (folder / "seeds" / "seeds.json").write_text("{}")
    return folder


@pytest.mark.parametrize("words", BAD)
def test_what_is_wrong_is_one_clear_line(place, bad_place, monkeypatch, capfd, words):
    monkeypatch.chdir(bad_place)
    before = sorted(bad_place.rglob("*"))
    runs = {name: place / name for name in ("gru", "rims")}
    status = run(words.format(data=place / "balls4.h5", films=place / "films.npy", **runs))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert BAD[words] in err
    assert err.count("\n") == 1
    missing = any(sign in err for sign in ("nothing there", "a folder)", "be a run folder", "idx3", "written"))
    faulty = any(
        sign in err
        for sign in ("undamaged", "best.ckpt", "SOURCE must", "must hold some", "must hold clips", "(a folder")
    )
    assert status == (1 if missing or faulty else 2)
    assert sorted(bad_place.rglob("*")) == before, "nothing may be left behind"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("generate balls4 --speedy 3", "options must be among those of --help, got --speedy 3; did you mean --speed?"),
        ("import films.npy --values 0 1 --out films.h5", "got --values 0 1; did you mean --range?"),
        ("train rims-balls4 --training.batch-size=5", "got --training.batch-size=5; did you mean --batch-size?"),
        ("train rims-balls4 --training.updates 5", "got --training.updates 5; did you mean --updates?"),
        ("train rims-balls4 --training.foo 5", "got --training.foo 5; see --help"),
        ("generate balls4 sm-mnist", "arguments must be among those of --help, got sm-mnist; see --help"),
        ("generate balls4 --n 5", "options must be among those of --help, got --n 5; see --help"),
        ("generate balls4 --digit-size 3", "options must be among those of --help, got --digit-size 3; "),
        ("train x.h5 --core.actve 3", "of --help, got --core.actve 3; did you mean --core.active?"),
        ("train x.h5 --lr 0.1", "options must be among those of --help, got --lr 0.1; did you mean --learning-rate?"),
        ("train x.h5 --epochs=3", "got --epochs=3; did you mean --updates?"),
        ("generate balls4 --epochs 3", "got --epochs 3; see --help"),  # it trains nothing
        ("train x.h5 --codec.decoder masks", "got --codec.decoder masks; did you mean --decoder?"),
        ("train x.h5 --core scoff --num_blocks 4", "got --num_blocks 4; did you mean --core.files?"),
        ("evaluate x y --metric mse", "got --metric mse; did you mean --metrics?"),
        ("evaluate x y --ot there", "got --ot there; did you mean --out?"),
        ("evaluate x y -o", "--out must be followed by a value, got nothing; see --help"),
        ("generate balls4 --balls 2,3", "--balls must be whole numbers, got 2,3; put spaces between them: 2 3"),
        (
            "render x y --clips 0-3",
            "--clips must be whole numbers, got 0-3; name each, with spaces between them: 0 ... 3",
        ),
        ("render x y --rows truth pred boxes", "got pred boxes; put commas between rows: --rows truth,pred,boxes"),
        ("render x y --rows truth, pred, boxes", "; put commas between rows: --rows truth,pred,boxes"),
        ("train rims-balls4 --seeds 0, 1, 2", "got 1, 2; put commas between seeds: --seeds 0,1,2"),
        ("render x y --clips 0, 3", "--clips must be whole numbers, got 0, 3; put spaces between them: 0 3"),
        ("evaluate x y --metrics SSIM", ", got SSIM; did you mean ssim?"),
        ("evaluate x y --metrics mse,ssim", ", got mse,ssim; put spaces between them: mse ssim"),
        ("import x --out y.h5 --part val", "--part must be one of test, train, validation, got val; did you mean vali"),
        ("generate balls4 --height abc", "--height must be a whole number, got abc; see --help"),
        ("generate balls4 --height=1.5 --width 8", "--height must be a whole number, got 1.5; see --help"),
        ("generate balls4 --height 8 --height abc", "--height must be a whole number, got abc; see --help"),
        ("generate balls4 --height=8 --height=abc", "--height must be a whole number, got abc; see --help"),
        ("generate balls4 --speed fast --width 8", "--speed must be a number, got fast; see --help"),
        ("generate balls4 --speed none", "--speed must be a number, got none; see --help"),
        ("train balls.h5 --clip-norm none", "--clip-norm must be a number, got none; write None"),
        (
            "train balls.h5 --core rims --core.comm-topk=NONE",
            "--core.comm-topk must be a whole number, got NONE; write None",
        ),
        ("generate balls4 --balls 2 1.5 --width 8", "--balls must be whole numbers, got 2 1.5; see --help"),
        ("import x --out y.h5 --range 1", "--range must be two numbers, got 1; see --help"),
        ("generate balls4 --height 4", "--height must be greater than or equal to 8, got 4; choose one that is"),
        ("generate balls4 --frames 1", "--frames must be greater than or equal to 2, got 1; choose one that is"),
        ("generate balls4 --radii", "--radii must have at least 1 item, got nothing; see --help"),
        ("generate sm-mnist --digit-size 63", "--digit-size must be at most 60"),
        ("generate balls4 --height", "--height must be followed by a value, got nothing; see --help"),
        ("generate balls4 --curtain 3", "--curtain must be followed by 2 values, got 3; see --help"),
        ("generate", "PRESET must be given, got nothing; see --help, which says: One of `videopred list datasets`, or"),
        ("import x", "--out must be given, got nothing; see --help, which says: Data file to make; ends in .h5."),
        ("train", "DATA must be given, got nothing; "),
        ("train x.h5 --core.active 9", "--core.active must be at most 6, got 9"),
        ("train x.h5 --core lstm --core.active 2", "--core.active must be a setting of lstm, got one of rims"),
        ("train x.h5 --updates 0", "--updates must be greater than 0, got 0"),
        ("train x.h5 --seed 18446744073709551616", "seed must be less than 18446744073709551616"),
        ("train x.h5 --core", "--core must be one of "),
        (
            "evaluate x y --part training",
            "--part must be one of test, train, validation, got training; did you mean t",
        ),
        (
            "generate balls4 --engine exakt",
            "--engine must be one of exact, rnem, sutskever, got exakt; did you mean e",
        ),
        ("list balls", "SHELF must be one of all, datasets, cores"),
        ("experiments", "got experiments; `videopred list experiments` shows them\n"),
        (
            "train x.h5 --core.active 7",
            "videopred: --core.active must be at most 6, got 7; lower --core.active or raise --core.modules\n",
        ),
    ],
)
@pytest.mark.parametrize(("columns", "letters"), [("80", "utf-8"), ("200", "utf-8"), ("80", "cp1252"), ("80", None)])
def test_wrong_flags_are_usage_errors(tmp_path, monkeypatch, capfd, words, message, columns, letters):
    """However wide the terminal is, and in whatever letters what is printed goes where: tyro draws boxes or dashes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    if letters != "utf-8":
        output = io.StringIO() if letters is None else io.TextIOWrapper(io.BytesIO(), encoding=letters)
        monkeypatch.setattr(sys, "stdout", output)
    assert run(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("videopred: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", ["1", "80"])
def test_what_was_typed_is_told_unbroken(monkeypatch, capfd, columns):
    """tyro breaks long words, as paths are, where a line ends, and never ends where a line holds a few letters."""
    monkeypatch.setenv("COLUMNS", columns)
    path = "/somewhere" * 30
    assert run(f"generate balls4 {path}") == 2
    assert capfd.readouterr().err == f"videopred: arguments must be among those of --help, got {path}; see --help\n"
    assert os.environ["COLUMNS"] == columns


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_terminal_gets_the_same_line_without_colors():
    """tyro paints boxes where stdout is a terminal."""
    for words, said in (
        ("demo extra", "arguments must be among those of --help, got extra; see --help"),
        ("evaluate run data --horizon three", "--horizon must be a whole number, got three; see --help"),
    ):
        assert on_a_terminal(words) == f"videopred: {said}\r\n"


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_help_is_in_colors_on_a_terminal_unless_they_are_not_wanted():
    painted, plain = on_a_terminal("demo --help"), on_a_terminal("demo --help", NO_COLOR="1")
    assert "\x1b[" in painted
    assert plain == re.sub(r"\x1b\[[\d;]*m", "", painted)


def test_the_preset_is_the_first_word_whatever_follows(tmp_path, monkeypatch):
    """A folder may bear another preset's name."""
    monkeypatch.chdir(tmp_path)
    assert run(f"generate sm-mnist --out balls4 {SIZES} {SMALL['sm-mnist']} --clips test=1") == 0
    assert open_dataset("balls4/sm-mnist.h5").recipe.kind == "moving-mnist"


def test_a_full_disk_is_one_clear_line(place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    afterwards: list[object] = []  # what would be printed when things that could not be written are cleared away
    monkeypatch.setattr(sys, "unraisablehook", afterwards.append)
    for words, name in (
        (f"generate balls4 {SIZES} --balls 2 --clips test=3 --out new.h5", "new.h5"),
        (f"import {place / 'films.npy'} --out new.h5", "new.h5"),
        (f"rollout {place / 'gru'} {place / 'balls4.h5'} --first 2 --out new.npz", "new.npz"),
        (f"evaluate {place / 'gru'} {place / 'balls4.h5'} --out .", "scores.json"),
        (f"render {place / 'gru'} {place / 'balls4.h5'} --out .", "test-0.gif"),
        (f"train {place / 'balls4.h5'} {core_flags('gru')} {LEARNING} --out run", "run/checkpoints/best.ckpt"),
    ):
        with no_file_longer_than(5000 if words.startswith("train") else 1200):
            assert run(words) == 1
        out, err = capfd.readouterr()
        fix = "free some space or choose another disk"
        by_flag = {"new.h5": "--out must be a file that can be written, got new.h5 (File too large)"}
        said = by_flag.get(name, f"{name} must be a file that can be written, got File too large")
        assert unasked(err) == f"videopred: {said}; {fix}\n"
        assert out == ""
    gc.collect()
    assert afterwards == []
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert not [name for name in left if name.endswith((".h5", ".npz", ".gif", ".png", ".ckpt", ".partial"))]
    assert json.loads(Path("run/run.json").read_text())["state"] == "failed"
