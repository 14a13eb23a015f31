"""From run folders to scores: one row of a table for each run."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from videopred import check
from videopred.checkpoint import DataRecord, RunConfig, load_run, run_settings
from videopred.datasets import DATASETS
from videopred.datasets.clip_source import ClipSource
from videopred.device import my_device, pick_device
from videopred.eval.scores import Scores
from videopred.eval.settings import Protocol
from videopred.judging.baselines import BASELINES
from videopred.judging.evaluating import evaluate_protocol
from videopred.judging.fitting import shows_its_digits
from videopred.run_files import SUMMARY, is_seed_folder, last_name, run_name
from videopred.runs import how_far, run_stamp
from videopred.weights import read_header


def evaluate_runs(
    runs: Sequence[Path], file: ClipSource, protocol: Protocol, *, device: str = "auto", **options: Any
) -> Scores:
    """Scores of one run, in the row *model*, or of several on the same clips, each in a row of its name.

    Runs that differ only in the seed of their training also get their mean, with an interval over runs.

    Args:
        runs: folders that `videopred train` wrote, or their exports.
        file: holds the clips.
        protocol: what is asked.
        device: see `pick_device`; of processes that judge together, each takes a GPU of its own with auto or cuda.
        options: see `How`.

    Raises:
        ValueError: two runs are of one name, or one of that of a trivial baseline; or see `evaluate`.
    """
    names = ["model"] if len(runs) == 1 else row_names(runs)
    trivial = [name for name in names if name in BASELINES]
    must = "be runs of other names than the trivial baselines"
    check.require(not trivial, "RUN", must, ", ".join(trivial), "rename the folder")
    check.each_once("RUN", [run.resolve() for run in runs], "be given once each")
    check.each_once("RUN", names, "be runs of different names", "rename a folder")
    named = dict(zip(names, runs, strict=True))
    # Before weights are read: of a run that goes on meanwhile, scores may be of later ones, but never of earlier ones.
    stamps = {name: told for name, run in named.items() if (told := run_stamp(run))}
    where = pick_device(my_device(device))
    predictors = {name: load_run(run, where) for name, run in named.items()}
    scores = evaluate_protocol(predictors, file, protocol, **options)
    unfinished = [f"{name} is not finished: {far}" for name, run in named.items() if (far := how_far(run))]
    seeds = _seeds(named)
    seen = (*_notes_on_seen_clips(named, scores), *_notes_on_seen_digits(named, file, protocol.part))
    notes = (*scores.notes, *unfinished, *seen, *_notes_on_unlike_seeds(named, seeds))
    return replace(scores, seeds=seeds, stamps=stamps, notes=notes)


def _notes_on_seen_clips(runs: Mapping[str, Path], scores: Scores) -> list[str]:
    """That runs are judged on the part that they were trained on, all of whose clips but a few they have seen, or on
    the one by which the best checkpoint of each was chosen."""
    how = {"train": "learned from clips of", "validation": "was chosen among its checkpoints by"}.get(
        scores.protocol.part
    )
    if how is None:
        return []
    known = {name: run_settings(run) for name, run in runs.items()}
    if scores.protocol.part == "validation":  # of what `save_model` wrote, nobody knows how it was chosen
        known = {name: of for name, of in known.items() if isinstance(of, RunConfig)}
    seen = [name for name, of in known.items() if of.data is not None and of.data.sha256 == scores.fingerprint]
    return [f"{' and '.join(seen)} {how} this part: scores on others may be worse"] if seen else []


def _notes_on_seen_digits(runs: Mapping[str, Path], file: ClipSource, part: str) -> list[str]:
    """That films which runs learned from show handwritten digits of this part."""
    seen = [name for name, run in runs.items() if shows_its_digits(file, part, run_settings(run).data)]
    told = f"learned from digits of MNIST's test file, which {file.path.name} tests with: scores on others may be worse"
    return [f"{' and '.join(seen)} {told}"] if seen else []


def _notes_on_unlike_seeds(runs: Mapping[str, Path], seeds: Mapping[str, tuple[str, ...]]) -> list[str]:
    """That runs in a folder of seeds were not trained alike, as when one was put there or replaced by hand."""
    folders: defaultdict[Path, set[str]] = defaultdict(set)
    for name, run in runs.items():
        if is_seed_folder(run.resolve().name) and (run.resolve().parent / SUMMARY).is_file():
            folders[run.resolve().parent].add(name)
    unlike = [names for names in folders.values() if len(names) > 1 and not any(map(names.issubset, seeds.values()))]
    why = "do not differ in their seed alone, so there is no mean over all of them"
    return [f"{' and '.join(sorted(names))} {why}" for names in unlike]


def row_names(runs: Sequence[Path]) -> list[str]:
    """Names of runs in a table: those of their results, but seeds of a single folder without its name.

    Runs with the same name in different folders get the folder's name too.
    """
    names = [run_name(run) for run in runs]
    if len({(run.resolve().parent, name.rpartition("/")[0]) for name, run in zip(names, runs, strict=True)}) == 1:
        names = [name.rpartition("/")[2] for name in names]
    return [
        name if names.count(name) == 1 else f"{run.resolve().parent.name}/{name.rpartition('/')[2]}"
        for name, run in zip(names, runs, strict=True)
    ]


def _seeds(runs: Mapping[str, Path]) -> dict[str, tuple[str, ...]]:
    """Groups of two or more runs that differ only in the seed of their training.

    Where the data was, the device, how often it was saved, and how the seed was set do not matter; nor, in a folder of
    `train --seeds`, that each seed made clips of its own. A run and its export, or its copy, are one run and never in
    one group: of each seed the second belongs to another, where those of its folder are.
    """
    alike: defaultdict[tuple[str, str], list[dict[int, str]]] = defaultdict(list)
    folders = {name: run.resolve().parent for name, run in runs.items()}
    for name, run in runs.items():
        config = run_settings(run)
        if not isinstance(config, RunConfig):  # nothing is known of its seed
            continue
        training = config.training.model_copy(update={"seed": 0, "save_every": None, "keep_every": None})
        began = config.init_from and last_name(Path(config.init_from))  # all that an export says
        early = read_header(run)[1].get("checkpoint") if run.is_file() else None
        parts = (config.model, training, _clips_of(run, config.data), began, early)
        found, seed = alike[config.model.core.label, repr(parts)], config.training.seed
        others = [group for group in found if seed not in group]
        among = [group for group in others if folders[name] in {folders[other] for other in group.values()}]
        if not others:
            found.append({seed: name})
        else:
            (among or others)[0][seed] = name
    every = [(core, tuple(group.values())) for (core, _), found in alike.items() for group in found]
    groups = [(core, names) for core, names in every if len(names) > 1]
    return {_group_name(core, names): names for core, names in groups}


def _group_name(core: str, names: Sequence[str]) -> str:
    """What runs that differ in their seed are called together: after their folder if several are told apart by it."""
    (folder, *others), seeds = {name.rpartition("/")[0] for name in names}, [name.rpartition("/")[2] for name in names]
    if folder and not others and all(map(is_seed_folder, seeds)):
        core, names = folder, [seed.removeprefix("seed-") for seed in seeds]
    return f"{core}, {len(names)} seeds ({', '.join(names)})"


def _clips_of(run: Path, data: DataRecord | None) -> str | None:
    """What tells the clips that a run learned from; those that each seed of a folder made anew are alike."""
    if data is None:
        return None
    endless = data.path in DATASETS or data.path.endswith(".json")
    folder = run.resolve().parent
    return f"{data.path} of {folder}" if endless and (folder / SUMMARY).is_file() else data.sha256
