"""Which flag or setting was meant by one that is not there: other tools call the same things otherwise."""

import re
from collections.abc import Iterable, Sequence

_ELSEWHERE = {
    "--updates": "epochs nepochs n-epochs num-epochs max-epochs epoch steps max-steps num-steps iters niter iterations",
    "--batch-size": "bs batch batchsize",
    "--learning-rate": "lr",
    "--schedule": "scheduler sched lr-scheduler lr-schedule",
    "--decay": "gamma lr-decay decay-rate",
    "--decay-every": "step-size decay-epoch",
    "--clip-norm": "clip clip-grad grad-clip gradient-clip gradient-clip-val max-grad-norm",
    "--accumulate": "accumulate-grad-batches grad-accum gradient-accumulation",
    "--sampling": "scheduled-sampling teacher-forcing",
    "--stop-after": "early-stop early-stopping early-stop-epoch",
    "--precision": "fp16 bf16 amp",
    "--validate-every": "val-every val-interval val-check-interval eval-interval eval-every test-interval",
    "--save-every": "save-interval save-freq checkpoint-every",
    "--logger": "wandb tensorboard",
    "--time-limit": "max-time",
    "--init-from": "load load-from load-model pretrained pretrain weights",
    "--resume": "resume-from resume-path auto-resume checkpoint ckpt ckpt-path model-path loadsaved",
    "--device cuda": "gpu cuda use-cuda use-gpu gpu-id",
    "--device cpu": "cpu use-cpu no-cuda no-gpu disable-cuda",
    "--device": "devices",
    "--devices": "gpus gpu-ids ngpu num-gpus world-size",
    "--nodes": "num-nodes",
    "--core": "model algo arch method rnn rnn-type",
    "--core.units": "hidden hiddensize hidden-units hidden-features n-hidden hidden-size hidden-dim hid hid-size "
    "hid-dim nhid nhidden num-hidden num-units rnn-size",
    "--core.modules": "blocks num-blocks nblocks num-modules num-rims n-rims",
    "--core.files": "blocks num-blocks nblocks num-modules num-object-files num-files num-ofs",
    "--core.active": "k topk top-k num-active",
    "--core.schemata": "num-schemas num-schemata num-templates n-templates templates num-rules",
    "--core.layers": "nlayers num-layers n-layers",
    "--core.hidden": "ffn-dim dim-feedforward",
    "--frames": "seq-len seq-length sequence-length length n-frames num-frames nframes time-steps timesteps",
    "--window": "seq-len seq-length sequence-length",
    "--context": "n-past pre-seq-length n-context context-frames context-length burn-in input-length in-frames "
    "input-frames nt-cond",
    "--horizon": "n-future n-eval aft-seq-length rollout rollout-length rollout-len pred-length "
    "pred-frames n-pred num-preds out-frames num-predict",
    "--samples": "nsample n-samples num-samples",
    "--first": "num-clips n-clips max-clips limit",
    "--part": "split subset phase train valid val validation test",
    "--clips": "clip index num-clips n-clips num-samples num-videos num-sequences num-train num-val num-test n-train "
    "n-val n-test train valid val validation test",
    "--balls": "nballs num-balls n-balls num-objects n-objects",
    "--objects": "num-objects n-objects",
    "--digits": "num-digits n-digits nums-per-image",
    "--train-digits": "classes labels class train-classes",
    "--test-digits": "test-classes",
    "--height and --width": "size res resolution image-size image-width img-size frame-size img-width",
    "--frame-ms": "fps",
    "--workers": "num-workers n-workers nworkers data-threads processes jobs",
    "--metrics": "metric",
    "--out": "output outdir output-dir out-dir save save-dir save-path logdir log-dir work-dir results-dir folder dest",
    "--overwrite": "force clobber",
    "--range": "values levels value-range data-range",
}
"""What to write here -> the names that other tools have for it; what a command does not have is not offered there."""
_COMMANDS = {
    "evaluate": "test score eval validate metrics benchmark",
    "render": "plot draw visualize visualise vis animate gif",
    "rollout": "predict sample imagine forecast infer inference",
    "train": "fit learn",
    "generate": "make create dataset download",
}
"""Command -> what other tools call what it does."""


def meant_flag(option: str, flags: Sequence[str]) -> str | None:
    """What to write in the place of an option that is no flag: what it is called here, or a flag that it nearly names.

    So `--num-units` and `--core.num-units` are `--core.units`, `--codec.decoder` and `--training.decay` are `--decoder`
    and `--decay`, `--units` is `--core.units`, `--no-core.comm` is `--core.no-comm`, and `--curtain-size` begins as
    `--curtain` does.

    Args:
        option: as it was typed, with its dashes.
        flags: those of the command.
    """
    name = option.lstrip("-").replace("_", "-").lower()
    section, _, last = name.rpartition(".")
    there = [flag.removeprefix("--") for flag in flags]
    for here, names in _ELSEWHERE.items():
        fits = section in ("", "training") or here.startswith(f"--{section}.")
        if fits and last in names.split() and here.partition(" ")[0] in flags:
            return here
    if off := re.fullmatch(r"no-(\w+)\.(.+)", name):
        part, switch = off.groups()
        return f"--{part}.no-{switch}" if {f"{part}.{switch}", f"{part}.no-{switch}"} & {*there} else None
    tails = [flag for flag in there if flag.rpartition(".")[2] == last]
    tails += [flag for flag in there if flag.replace(".", "-") == name]
    beginnings = sorted((flag for flag in there if name.startswith(f"{flag}-")), key=len)
    near = tails[:1] or beginnings[-1:]
    return f"--{near[0]}" if near else None


def meant_command(word: str) -> str | None:
    """The command that does what others do by this name."""
    return next((command for command, names in _COMMANDS.items() if word.lower() in names.split()), None)


def meant_setting(name: str, settings: Iterable[str]) -> str | None:
    """Which of these settings is meant by a name of another tool, as `num_units` is `units`."""
    there = {setting.replace("_", "-"): setting for setting in settings}
    for here, names in _ELSEWHERE.items():
        setting = here.removeprefix("--").rpartition(".")[2]
        if name.replace("_", "-").lower() in names.split() and setting in there:
            return there[setting]
    return None
