"""Commands that hold cores to what they must do, and let trained models predict."""

from pathlib import Path
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from videopred import check, check_path
from videopred.commands import terminal
from videopred.commands.opening import opened, results
from videopred.commands.options import CORE_HELP, Context, Data, Device, Horizon, Json, Overwrite, Run, out_flag
from videopred.flags import model_flags
from videopred.models.intervention_settings import Intervention
from videopred.models.settings import CoreConfig, RIMsConfig
from videopred.run_files import named_path
from videopred.settings import Part


def check_core(
    name: Annotated[Positional[str], arg(metavar="CORE", help=CORE_HELP)],
    *,
    core: CoreConfig = RIMsConfig(),
    json_: Json = False,
) -> None:
    """Check a core of your own against what every core must do, one line per check."""
    from videopred.models import build_core, conformance
    from videopred.models.conformance_ground import FEATURES

    config = model_flags.chosen_part("core", name, core)
    found = conformance.run_checks(lambda: build_core(config, FEATURES))
    if json_:
        terminal.print_json(found)
    else:
        terminal.print_rows({check_name.replace("_", " "): reason or "passes" for check_name, reason in found.items()})
    failed = sum(map(bool, found.values()))
    fix = "fix them from the top down; videopred/models/core.py says what a core must do"
    if ":" not in name:
        fix = "give other settings; docs/cores.md says which take away what a check looks for"
    if failed:
        raise check.FailedError(
            check.complaint(f"core {name}", "pass every check", f"{failed} of {len(found)} failed", fix)
        )


def rollout(
    run: Run,
    data: Data,
    *,
    part: Annotated[Part, arg(help="Part of the data.")] = "test",
    first: Annotated[int | None, arg(metavar="CLIPS", help="Use only the first so many clips; default: 16.")] = None,
    context: Context = None,
    horizon: Horizon = None,
    feedback: Annotated[
        str, arg(metavar="NAME", help="What the model receives after the context: soft, threshold:0.5 or sample.")
    ] = "soft",
    samples: Annotated[int, arg(help="Films that are drawn of each clip, of models and feedback with chance.")] = 1,
    intervention: OmitArgPrefixes[Intervention] = Intervention(),
    out: Annotated[Path | None, out_flag("File; default: eval/<run>/<data>/rollout.npz.")] = None,
    trace: Annotated[
        Path | None, arg(help="File for states, attention and choices of the modules, for `videopred probe`.")
    ] = None,
    device: Device = "auto",
    overwrite: Overwrite = False,
    json_: Json = False,
) -> None:
    """Predict the frames that follow a context, and save them as arrays.

    With --without, --freeze, --swap or --schema, the model is rolled out under that intervention.
    """
    path = check_path.absent("--out", out or results(run, data) / "rollout.npz", overwrite)
    paths = {"--out": path} | ({} if trace is None else {"--trace": check_path.absent("--trace", trace, overwrite)})
    for flag, one in paths.items():
        check.require(one.suffix == ".npz", flag, "end in .npz", one, "rename it")
    differ = trace is None or trace.resolve() != path.resolve()
    check.require(differ, "--trace", "be another file than --out", trace, "rename one of them")
    if first is not None:
        check.whole_number("--first", first, 1, "ask for at least one clip")
    check.whole_number("--samples", samples, 1, "ask for at least one film")
    fix = "`videopred evaluate` scores it; `one_step` in the file has the predictions within the context"
    check.require(feedback != "true", "--feedback", "be soft, threshold:0.5 or sample", feedback, fix)
    check.threshold_of(feedback, rolled=True)

    asked = opened(run, data, device, context, horizon)
    intervention.check_beginning(asked.horizon)
    there = asked.file.count(part)
    must = f"be at most {there}, the clips of the {part} part"
    check.require(first is None or first <= there, "--first", must, first, "lower it")
    chosen = range(min(16, there) if first is None else first)
    from videopred.checkpoint import load_run
    from videopred.judging import imagine
    from videopred.models.interventions import intervene
    from videopred.rollout import save_rollout, save_trace

    predictor = load_run(run, device)
    if not intervention.idle:
        predictor = intervene(predictor, intervention, asked.context)
    what = (predictor, asked.file, part, chosen, asked.context, asked.horizon)
    rollout, truth = imagine(*what, feedback=feedback)
    others = [imagine(*what, feedback=feedback, sample=sample)[0].prediction for sample in range(1, samples)]
    made = {
        "run": str(named_path(run)),
        "data": str(named_path(data)),
        "fingerprint": asked.file.fingerprint(),
        "part": part,
        "clips": list(chosen),
        "context": asked.context,
        "feedback": feedback,
        "samples": samples,
        "intervention": list(intervention.words),
    }
    for flag, one in paths.items():
        check_path.absent(flag, one, overwrite)  # another command may have made it meanwhile
    save_rollout(path, rollout, truth, made, others)
    if trace is not None:
        from videopred.judging.probing import known_of

        save_trace(trace, rollout, known_of(asked.file, part, chosen, asked.context + asked.horizon), made)
    if first is None and len(chosen) < there and not json_:
        print(f"the first {len(chosen)} of {there} clips of the {part} part; --first {there} takes all")
    if samples > 1 and all(rollout.prediction.equal(other) for other in others) and not json_:
        print("all samples are the same; --feedback sample draws them")
    terminal.print_files(list(paths.values()), json_)
