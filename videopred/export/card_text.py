"""The card of a trained model, in Markdown: what it is, how to make its clips again, how it learned, what it reaches.

It is for somebody who has the export and the package, and nothing else: every command in it can be copied.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from videopred.amounts import counted, duration, parts_told, size
from videopred.checkpoint import DataRecord, ExperimentRecord, RunConfig
from videopred.command_lines import Words, evaluate_words, generate_words, training_words
from videopred.datasets.clip_source import ClipSource
from videopred.eval.scores import Scores
from videopred.eval.tables import CEILING
from videopred.eval.text import plain
from videopred.experiments import experiment_names
from videopred.models import name_of_part
from videopred.models.own import settings_of
from videopred.models.predictor import Predictor
from videopred.printable import printable_lines
from videopred.run_files import data_name
from videopred.run_record import updates_learned
from videopred.training.schedules import own_frames
from videopred.typed_commands import typed_command
from videopred.weights import Export


class Described(NamedTuple):
    """All that a card is made of."""

    name: str
    """What the model is called: the export's name without suffix."""
    export: Export
    predictor: Predictor
    file: ClipSource
    """The clips that are shown."""
    fingerprint: str
    """What their `fingerprint()` gives."""
    scores: Sequence[Scores]
    """What `videopred evaluate` said of the run; may be none."""

    @property
    def export_path(self) -> str:
        """The export, as commands of the card call it."""
        return f"models/{self.name}.safetensors"

    @property
    def generate_command(self) -> Words:
        """The command that makes the clips."""
        recipe, seed, called = self.file.recipe, self.file.seed, _called(str(self.file.path))
        assert recipe is not None
        assert seed is not None
        return generate_words(recipe, self.file.parts, seed, called, len(self.file.files()))

    @property
    def data_path(self) -> str:
        """The clips, as commands of the card call them: a file, or a folder of shards, called after its preset."""
        if len(self.file.files()) == 1:
            return _called(str(self.file.path))
        _, preset, *_ = self.generate_command
        return f"datasets/{preset}"

    @property
    def given(self) -> tuple[int, int]:
        """Frames given and predicted, of its first scores; else the usual ones of the clips."""
        asked = self.scores[0].protocol if self.scores else self.file
        return asked.context, asked.horizon

    @property
    def given_words(self) -> Words:
        """`--context` and `--horizon` with these numbers."""
        context, horizon = map(str, self.given)
        return "--context", context, "--horizon", horizon

    @property
    def config(self) -> RunConfig:
        """The settings that the export holds."""
        return RunConfig(**self.export.settings)

    @property
    def other_clips(self) -> DataRecord | None:
        """What it learned from, if that is not what is shown."""
        learned = self.config.data
        return None if learned is None or learned.sha256 == self.fingerprint else learned


def card_text(of: Described) -> str:
    """The card, in Markdown."""
    context, horizon = of.given
    shown = f"*The first test clip, truth and prediction: {context} frames are given (blue-grey border), then "
    shown += f"{horizon} are the model's own (orange).*"
    head = [f"# {plain(of.name)}", f"![Truth and prediction]({quote(of.name)}.gif)", shown, _summary(of)]
    sections = {
        "Use": _use(of),
        "Data": _origin(of),
        "Training": _training(of),
        "Scores": _reached(of),
        "Limits": _limits(of),
    }
    parts = [*head, *(part for title, parts in sections.items() for part in (f"## {title}", *parts))]
    return printable_lines("\n\n".join(parts)) + "\n"


def _summary(of: Described) -> str:
    """A table of what the model is."""
    model, (channels, height, width) = of.config.model, of.predictor.film_shape
    core, codec, decoder = (_settings(part) for part in (model.core, model.codec, model.decoder))
    count = sum(weight.numel() for weight in of.predictor.parameters())
    inside = sum(weight.numel() for weight in of.predictor.core.parameters())
    weights = of.export.weights.values()
    kinds = dict.fromkeys(str(weight.dtype).removeprefix("torch.") for weight in weights if weight.is_floating_point())
    held = sum(weight.numel() * weight.element_size() for weight in weights)
    rows = {
        "core": core,
        "codec": codec + (f", of {model.stack} frames at once" if model.stack > 1 else ""),
        "decoder": decoder,
        "parameters": f"{count:,}, of which {inside:,} are the core's",
        "weights": f"{', '.join(kinds)}; {size(held)}",
        "frames": f"{height} × {width} px, {counted(channels, 'channel')}",
    }
    if of.config.experiment is not None:
        rows["experiment"] = _experiment(of.config.experiment)
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def _experiment(asked: ExperimentRecord) -> str:
    """Its name, its scale, and what flags changed. Of a file of somebody's own, scale `paper` is the file as it is."""
    as_it_is = asked.scale == "paper"
    if asked.own_file or asked.name not in experiment_names():
        return f"`{asked.name}`, from an own file" + ("" if as_it_is else f", at scale {asked.scale}") + asked.own
    not_as_published = "" if as_it_is else ", which is not as published"
    return f"`{asked.name}` at scale {asked.scale}{not_as_published}{asked.own}"


def _settings(settings: Any) -> str:
    """The kind, all sizes, and what else is set otherwise than usual; what is the kind's own comes first."""
    name, settings = name_of_part(settings), settings_of(settings)
    kind = type(settings)
    usual = {name: field.get_default(call_default_factory=True) for name, field in kind.model_fields.items()}
    said = [name for name, value in settings if _is_size(value) or value != usual[name]]
    said.sort(key=lambda name: name not in kind.__annotations__)
    told = (f"{name.replace('_', ' ')} {_written(getattr(settings, name))}" for name in said if name != "kind")
    return ", ".join([f"`{name}`", *told])


def _is_size(value: Any) -> bool:
    """Whether it is a whole number, or several."""
    return all(type(one) is int for one in (value if isinstance(value, tuple) else (value,)))


def _written(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _use(of: Described) -> Iterator[str]:
    own = [f"the {part.part()} `{part.source}`" for part in of.config.model.own_parts]
    needs = f", where Python can import {' and '.join(own)}" if own else ""
    yield f"In a clone of the repository, or in any folder whose `models/` holds this export{needs}:"
    yield _shell(of.generate_command, ("render", of.export_path, of.data_path, *of.given_words))
    yield (
        "The first command makes the clips, byte for byte. Fewer training clips will do: they only calibrate trivial "
        "baselines. `videopred train DATA --init-from` starts from these weights."
    )


def _origin(of: Described) -> Iterator[str]:
    counts = parts_told(of.file.parts)
    yield f"{counts}; each of {of.file.frames} frames. Fingerprint (SHA-256 of all values): `{of.fingerprint}`."
    if learned := of.other_clips:
        name = data_name(Path(learned.path))
        yield f"It was trained on other clips, {name}, with the fingerprint `{learned.sha256}`."


def _training(of: Described) -> Iterator[str]:
    record, training = of.export.record, of.config.training
    data = of.config.data
    learned_from = "" if of.other_clips or data is None else data.path  # the file may be called otherwise now
    if words := training_words(record.get("command", ""), learned_from, of.data_path):
        yield _shell(words)
    done = _updates(of)
    asked = "" if done == training.updates else f", where {training.updates:,} were asked for"
    told = [f"{counted(done, 'update')} of {counted(training.batch_size, 'clip')} from seed {training.seed}{asked}"]
    if training.has_own_loss:
        told.append(f"by the loss `{training.loss}`")
    if "seconds" in record:
        told.append(f"{duration(record['seconds'])} by the clock")
    if "cpu_seconds" in record:
        told.append(f"{duration(record['cpu_seconds'])} of CPU time")
    if "device" in record:
        told.append(f"on {record['device']}, {counted(record.get('threads', 1), 'thread')}")
    last = "checkpoint" in record  # a card is of the best one, if there is one
    weights = "last update" if last else "lowest validation loss"
    yield f"{', '.join(told)}. The weights are those of the {weights}."
    known = {"Machine": record.get("machine"), "Python": record.get("python"), **record.get("versions", {})}
    known["commit"] = record.get("commit")
    yield f"{', '.join(f'{name} {value}' for name, value in known.items() if value)}."


def _updates(of: Described) -> int:
    """How many it learned from; all that were asked for if nothing is known."""
    learned = updates_learned(of.export.record)
    return of.config.training.updates if learned is None else learned


def _reached(of: Described) -> Iterator[str]:
    if not of.scores:
        yield "No scores were found. To score it:"
        yield _shell(("evaluate", of.export_path, of.data_path, *of.given_words))
    for scores in of.scores:
        if scores.fingerprint != of.fingerprint:
            yield f"On other clips, with the fingerprint `{scores.fingerprint}`:"
        yield _shell(_evaluate(of, scores))
        yield f"```text\n{scores.table()}\n```"
        yield "\n".join(f"- {line}" for line in _ahead(scores))


def _ahead(scores: Scores) -> Iterator[str]:
    """For each metric, the steps at which the model is better than every row that has learned nothing."""
    (model,) = scores.models
    trivial = [row for row in scores.values if row not in (model, CEILING)]
    for column, metric in scores.metrics.items():
        rows = [row for row in trivial if not np.isnan(scores.values[row][column]).all()]
        if not rows:
            continue
        sign = 1 if metric.higher_is_better else -1
        best = np.fmax.reduce([sign * scores.values[row][column] for row in rows])
        won = sign * scores.values[model][column] > best
        steps = "step" if won.sum() == 1 else "steps"
        where = f"at {steps} {ranges(won)} of {len(won)}" if won.any() else "at no step"
        yield f"{scores.label(column)}: ahead of every trivial baseline {where}."


def ranges(held: np.ndarray) -> str:
    """Steps, counted from 1, as `1 to 3, 5`."""
    edges = np.flatnonzero(np.diff(held, prepend=False, append=False))
    spans = zip(edges[::2] + 1, edges[1::2], strict=True)
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans)


def _limits(of: Described) -> Iterator[str]:
    training, first, other = of.config.training, of.config.init_from, of.other_clips
    begun = f"starting from the weights of `{first}`, on" if first else "only on"
    unit = of.scores[0].unit if of.scores else "clip"
    clips = f"clips of {data_name(Path(other.path))}" if other else f"clips like these, of {of.file.frames} frames"
    if training.window is not None:
        clips += f", {training.window} frames at a time"
    own = own_frames(training, max(0, _updates(of) - 1))
    fed = f"the last {own} from its own predictions" if own else "each from the true ones before it"
    if training.sampling != "none":
        fed = "from true frames and, as scheduled sampling has it, from its own predictions"
    if training.noise:
        fed += f", with {100 * training.noise:.3g}% of the values of true frames flipped"
    yield (
        f"It was trained once, {begun} {clips}, {fed}. Another seed gives other scores, as does another order of sums "
        f"on another machine. Intervals are over {unit}s. These scores say nothing about longer rollouts, other "
        "numbers of objects or other sizes."
    )


def _evaluate(of: Described, scores: Scores) -> Words:
    """The command that gave some scores."""
    same = scores.fingerprint == of.fingerprint
    data = of.data_path if same else _called(scores.file)
    reference = None if scores.reference in (None, scores.file) else _called(scores.reference)
    return evaluate_words(of.export_path, data, scores.protocol, scores.clips_in_part, reference)


def _called(file: str) -> str:
    """A file of clips, as commands of the card call it."""
    return f"datasets/{Path(file).name}"


def _shell(*commands: Words) -> str:
    """Commands as a block that can be copied."""
    return "\n".join(["```sh", *map(typed_command, commands), "```"])
