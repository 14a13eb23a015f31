"""Named protocols: how the papers ask. Light, as settings.py; the same cards are committed in eval/protocols/.

To add one: a line in PROTOCOLS, and its card, which a test compares with it: what `Card.model_dump` gives, without the
`changed` and `metric_settings` of its protocol, which are empty in all of them.
"""

from videopred.eval.settings import Protocol
from videopred.settings import Settings


class Card(Settings):
    """A named protocol: what is asked, of models of which data, on which data."""

    summary: str
    """What it is, in one line of a terminal."""
    source: str
    """Where it is stated, and what was left open there and chosen here."""
    datasets: tuple[str, ...]
    """Presets whose files it may be asked on."""
    trained_on: tuple[tuple[str, str], ...] = ()
    """(trained on, tested on), where these differ or matter."""
    protocol: Protocol | None = None
    """What is asked; None for a protocol that another command answers."""
    samples_when_sampled: int = 1
    """Films of each clip where pixels are drawn (`--feedback sample`); the predictions of a model without chance are
    all the same otherwise."""
    command: str = "evaluate"
    """The command that answers it."""


FREE = ("engine", "frames", "mnist_sha256")
"""Settings that may differ between a file and a protocol's presets: `engine`, as R-NEM's own files differ in it too;
`frames`, which need only suffice; `mnist_sha256`, which a file records and a preset leaves open."""

_BALLS = ("bce", "mse", "ssim", "f1")
_LIT = ("f1", "balanced-accuracy", "bce")
_CROPS = ("crops", "crops1", "crops2", "crops3", "crops4", "crops5", "crops6")
_DIGITS = ("ssim-svg", "ssim", "psnr", "mse")

PROTOCOLS: dict[str, Card] = {
    "rnem-balls": Card(
        summary="Balls: 15 frames given, 35 imagined, soft frames fed back.",
        source="RIMs, figure 3; BRIMs, figures 4 and 5. BCE is R-NEM's sum over pixels, clipped at 1e-6; RIMs' and "
        "BRIMs' axes do not say sum or mean. R-NEM's own figures are of films with a fifth of the input pixels "
        "flipped; here none are.",
        datasets=("balls4", "balls678", "curtain"),
        protocol=Protocol(name="rnem-balls", context=15, horizon=35, metrics=_BALLS),
    ),
    "scoff-balls": Card(
        summary="Balls: 15 frames given, means over 10 and 30 imagined; compare relative to a GRU.",
        source="SCOFF, figure 5 and figure 7: error relative to the GRU's after 10 and 30 frames. Which error is not "
        "said; we show BCE and others.",
        datasets=("balls4", "balls678", "curtain", "colored4", "colored678"),
        protocol=Protocol(name="scoff-balls", context=15, horizon=30, metrics=_BALLS, means=(10,)),
    ),
    "rims-transfer": Card(
        summary="Other balls: trained on 4, tested on 6 to 8 and behind a curtain; trained on 6 to 8, tested on 4.",
        source="RIMs, figure 3 (second to fourth plot) and section 4.2, where models trained on 4 balls meet the "
        "curtain; BRIMs, figure 4, does not say what its models for the curtain learned from.",
        datasets=("balls4", "balls678", "curtain"),
        trained_on=(("balls4", "balls678"), ("balls678", "balls4"), ("balls4", "curtain")),
        protocol=Protocol(name="rims-transfer", context=15, horizon=35, metrics=_BALLS),
    ),
    "crops": Card(
        summary="One step ahead, one to six balls around a fixed one, whole frames of 48 x 48 px.",
        source="RIMs, appendix D.5 and figure 13: F1 and balanced accuracy of one-step predictions, trained on three "
        "balls. The threshold is not said; 0.5 here. Every frame but the first is predicted.",
        datasets=_CROPS,
        trained_on=tuple(("crops", tested) for tested in _CROPS),
        protocol=Protocol(name="crops", context=1, horizon=99, metrics=_LIT, feedback="true"),
    ),
    "svg-smmnist": Card(
        summary="Moving digits: 5 frames given, 25 imagined; with --feedback sample the best of 100.",
        source="SVG's generate_svg_lp.py with n_past 5, n_eval 30 and 100 samples; its SSIM is our ssim-svg. It keeps "
        "the sample that is best by SSIM; here each metric has its own best.",
        datasets=("sm-mnist-svg",),
        protocol=Protocol(name="svg-smmnist", context=5, horizon=25, metrics=_DIGITS, means=(10,)),
        samples_when_sampled=100,
    ),
    "brims-smmnist": Card(
        summary="Moving digits 8 and 9, trained on 0 to 7: 5 frames given, means over 10 and 25 imagined.",
        source="BRIMs, section 5.5 and figure 3: SSIM and MSE of the best generated sequences, by SVG's protocol. The "
        "number of samples is not said; SVG's 100.",
        datasets=("sm-mnist",),
        protocol=Protocol(name="brims-smmnist", context=5, horizon=25, metrics=_DIGITS, means=(10,)),
        samples_when_sampled=100,
    ),
    "openstl-mmnist": Card(
        summary="Moving MNIST, 10 frames given, 10 imagined, as PredRNN, SimVP and OpenSTL are compared.",
        source="OpenSTL's benchmark of Moving MNIST, which follows Srivastava et al. 2015: squared and absolute errors "
        "are sums over a frame; its SSIM is our ssim-svg. Its 10,000 test clips are a fixed file, which `videopred "
        "import` reads; it trains on clips made anew.",
        datasets=("srivastava",),
        protocol=Protocol(
            name="openstl-mmnist", context=10, horizon=10, metrics=("mse-sum", "mae-sum", "ssim-svg", "psnr")
        ),
    ),
    "intphys": Card(
        summary="Whether films are possible: see `videopred plausibility`.",
        source="Riochet et al. 2019; SCOFF, table 1.",
        datasets=("occlusion",),
        command="plausibility",
    ),
}
"""Name -> card."""
