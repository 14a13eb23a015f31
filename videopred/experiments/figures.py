"""Video figures and tables of the papers: what stands in each, as experiments, clips and questions. Light.

To add one: an entry in PAPER_FIGURES. `videopred reproduce NAME` makes it; a test makes each at scale tiny.
"""

import re
from typing import Literal, NamedTuple

from videopred import check
from videopred.experiments import PAPERS


class Model(NamedTuple):
    """A model of a figure: an experiment, and what differs from it."""

    experiment: str
    """Its name."""
    name: str
    """What it is called in tables of scores and in pictures."""
    flags: tuple[str, ...] = ()
    """Words of `videopred train` that change it."""
    suffix: str = ""
    """What these add to the name of its run; empty only without flags."""


class PaperPanel(NamedTuple):
    """Some models on the same test clips, and what is asked of them."""

    models: tuple[Model, ...]
    """The first is what the paper proposes, the others are its rivals."""
    clips: str
    """The experiment whose clips these are."""
    preset: str = ""
    """A preset whose test clips are taken in place of the experiment's, and as many; empty for none."""
    context: int = 0
    """True frames given."""
    horizon: int = 0
    """Frames imagined."""
    one_step: bool = False
    """Whether each frame is predicted from the true ones before it."""
    metrics: tuple[str, ...] = ()
    """Scored by these, in a table and as curves over the horizon; not at all if empty."""
    relative_to: int | None = None
    """Index of the model that errors are relative to; None is the first."""
    figure: str = ""
    """How clips are drawn, a name of `videopred.rendering.FIGURES`; not at all if empty."""
    drawn: tuple[str, ...] = ("--clips", "0", "1")
    """Words of `videopred render` that say which clips these are."""
    plausibility: bool = False
    """Whether possible and impossible films are told apart."""


class PaperFigure(NamedTuple):
    """A figure or table of a paper."""

    place: str
    """Where it stands."""
    summary: str
    """What it shows, in one line of a terminal."""
    panels: tuple[PaperPanel, ...]
    also: tuple[int, ...] = ()
    """Numbers of other figures of the same paper that are made with it."""
    together: Literal["", "means", "curves"] = ""
    """How panels stand in one table and figure, too: means with data sets along x, or curves for each; empty if not."""
    differs: str = ""
    """Where ours differs, besides what the experiments themselves say."""


def _with(rivals: tuple[str, ...], experiment: str) -> tuple[Model, ...]:
    """An experiment and its rivals."""
    proposed = PAPERS[experiment.partition("-")[0]]
    return (Model(experiment, proposed), *(Model(f"{experiment}-{rival}", rival.upper()) for rival in rivals))


def _rims_on(experiment: str) -> Model:
    """RIMs in place of the core of an experiment of another paper."""
    return Model(experiment, "RIMs", ("--core", "rims"), "-rims")


def _with_lstms(experiment: str, trained: str = "") -> tuple[Model, ...]:
    """RIMs, and two LSTMs: as wide as they are together, and of the paper's 250 units."""
    return (
        Model(experiment, f"RIMs{trained}"),
        Model(f"{experiment}-lstm", f"LSTM{trained}"),
        Model(experiment, f"narrow LSTM{trained}", ("--core", "lstm-balls"), "-narrow-lstm"),
    )


_RIMS = _with_lstms("rims-balls4")
_RIMS678 = _with_lstms("rims-balls678", trained=" trained on 6-8")
_RIMS_READING_STRIPS = Model("rims-balls4", "RIMs on strips", ("--core.reads", "strips"), "-strips")
_SPARSE = (
    Model("brims-balls4", "BRIMs"),
    Model("brims-balls4", "lower layer dense", ("--core.active", "5", "3"), "-dense-below"),
    Model("brims-balls4", "upper layer dense", ("--core.active", "3", "5"), "-dense-above"),
    Model("brims-balls4", "both dense", ("--core.active", "5", "5"), "-dense"),
    Model(
        "brims-balls4",
        "2 of 3 modules active",
        ("--core.modules", "3", "3", "--core.active", "2", "2", "--core.units", "100", "100"),
        "-2-of-3",
    ),
)
"""BRIMs, and with more of their modules active, or with fewer modules: what sparse activation is worth."""
_ABLATED = (
    Model("rims-balls4", "RIMs"),
    Model("rims-balls4", "one head", ("--core.comm-heads", "1"), "-one-head"),
    Model("rims-balls4", "no input attention", ("--core.no-input-attention", "--core.active", "6"), "-no-attention"),
)
"""RIMs as they are, and without one of their parts."""


_NO_WIDTH = "The paper gives no width; ours is 4 modules of 100."
_WIDTH = "The 400 units of the paper are 5 modules of 80."
"""Of the RIMs of figures 21 and 22, and of 23 to 25."""


def _strip_panel(models: tuple[Model, ...], clips: str, context: int, horizon: int) -> PaperPanel:
    return PaperPanel(models, clips, context=context, horizon=horizon, figure="strip")


def _each_silenced(figure: int, active: int, modules: int, units: int, width: str) -> PaperFigure:
    core = ("rims", "--core.modules", str(modules), "--core.active", str(active), "--core.units", str(units))
    model = Model("brims-smmnist", "RIMs", ("--core", *core), f"-rims-{active}-of-{modules}")
    drawn = ("--part", "validation", "--random", "4")  # the test part has digits that were not trained on
    return PaperFigure(
        f"RIMs, figure {figure}",
        f"{modules} RIMs of which {active} are active, on moving digits, with each of them silenced.",
        (PaperPanel((model,), "brims-smmnist", context=5, horizon=25, figure="mask-out", drawn=drawn),),
        differs="Trained as BRIMs' digits are: on digits 0 to 7, where the paper takes all, always two of them, where "
        "it also speaks of one, and with their optimizer and length, of which it says nothing. Other clips of these "
        "digits are shown. " + width + " Drawn as activity and error, where the paper shows films: `videopred render` "
        "with `--without 0` draws these.",
    )


def _frames_and_schemata(experiment: str, context: int, horizon: int, drawn: tuple[str, ...]) -> tuple[PaperPanel, ...]:
    return tuple(
        PaperPanel(_with((), experiment), experiment, context=context, horizon=horizon, figure=figure, drawn=drawn)
        for figure in ("strip", "schemata")
    )


def _relative_to_gru(*others: str) -> tuple[PaperPanel, ...]:
    """SCOFF, a GRU, RIMs and other baselines on four data sets, after 10 and after 30 frames."""
    return tuple(
        PaperPanel(
            (*_with(("gru",), name), _rims_on(name), *_with(others, name)[1:]),
            name,
            context=15,
            horizon=horizon,
            metrics=("bce",),
            relative_to=1,
        )
        for name in ("scoff-balls4", "scoff-curtain", "scoff-balls678", "scoff-colored678")
        for horizon in (10, 30)
    )


PAPER_FIGURES: dict[str, PaperFigure] = {
    "rims-figure-3": PaperFigure(
        "RIMs, figure 3, first four plots",
        "RIMs and LSTMs over 35 imagined frames: on 4 balls, on other numbers of balls, behind a curtain.",
        (
            PaperPanel(_RIMS, "rims-balls4", context=15, horizon=35, metrics=("bce",)),
            PaperPanel(_RIMS, "rims-balls678", context=15, horizon=35, metrics=("bce",)),
            PaperPanel(_RIMS678, "rims-balls4", context=15, horizon=35, metrics=("bce",)),
            PaperPanel(_RIMS, "brims-curtain", context=15, horizon=35, metrics=("bce",)),
        ),
        together="curves",
        differs="The two plots of 4 balls are one. The paper's curves begin with the 15 given frames. The paper's LSTM "
        "has 250 units by its captions, and 256 or 512 by section 4.2; our narrow one has 250, and our other one is as "
        "wide as the RIMs together. No model is trained behind "
        "curtains.",
    ),
    "rims-figure-6": PaperFigure(
        "RIMs, figure 6",
        "RIMs that see a horizontal strip of the frame each: which are active, and where the balls are.",
        tuple(
            PaperPanel((_RIMS_READING_STRIPS,), "rims-balls4", context=15, horizon=35, figure=figure)
            for figure in ("strips", "activation-position")
        ),
        differs="Truth in blue over the prediction, which the paper has in orange and green, in a row for the truth "
        "fed and one for the rollout; ours has one row. The paper compares modules early in training, which follow "
        "the balls, with those later, which no longer do; ours are those at the end. Also activity over time.",
    ),
    "rims-figure-8": PaperFigure(
        "RIMs, figures 7 to 10",
        "Strips of RIMs and LSTMs on the clips of figure 3, the truth in blue over the prediction.",
        (
            _strip_panel(_RIMS, "rims-balls4", 15, 15),
            _strip_panel(_RIMS, "rims-balls678", 15, 15),
            _strip_panel(_RIMS678, "rims-balls4", 15, 15),
            _strip_panel(_RIMS, "brims-curtain", 15, 15),
        ),
        also=(7, 9, 10),
        differs="Every third frame, given or not, as in the paper's figures 7 and 9, which show the truth above the "
        "prediction; its figures 8 and 10 show the last 6 given frames, then the rollout. The paper has two LSTMs, one "
        "of them of 250 units, the other perhaps of 512 (section 4.2); ours are one of 250 units and one as wide as "
        "the RIMs together.",
    ),
    "rims-figure-11": PaperFigure(
        "RIMs, figure 11",
        "RIMs on three balls behind a curtain: fed the truth, then their own predictions.",
        (_strip_panel(_RIMS[:1], "brims-curtain", 15, 15),),
        differs="Trained on 4 balls without curtain, as in section 4.2. How many frames are given is not said.",
    ),
    "rims-figure-12": PaperFigure(
        "RIMs, figure 12",
        "RIMs trained on 6 to 8 balls, on such clips and on 4 balls.",
        (_strip_panel(_RIMS678[:1], "rims-balls678", 15, 15), _strip_panel(_RIMS678[:1], "rims-balls4", 15, 15)),
    ),
    "rims-figure-13": PaperFigure(
        "RIMs, figure 13, and figure 3, last plot",
        "F1 and balanced accuracy of RIMs, LSTM and RMC one step ahead, on one to six balls, trained on three.",
        tuple(
            PaperPanel(
                _with(("lstm", "rmc"), "rims-crops"),
                "rims-crops",
                preset=f"crops{balls}",
                context=1,
                horizon=99,
                one_step=True,
                metrics=("f1", "balanced-accuracy"),
            )
            for balls in range(1, 7)
        ),
        together="means",
        differs="Whole frames: how the paper cuts crops is not described. Also a table and curves over time for each "
        "number of balls. Of the paper's oracle, TTO, it is said that it has access to the true dynamics and does not "
        "model them; ours is told the true state. The paper shows the best of three runs, ours is one, or the mean "
        "over those of `--seeds`. LSTM and RMC are as wide as RIMs, the RMC with a twelfth of their core parameters "
        "(at paper scale).",
    ),
    "rims-figure-15": PaperFigure(
        "RIMs, figures 15 and 16",
        "RIMs as they are, with one head, and without input attention: scores, and strips of 4 balls and curtain.",
        (
            PaperPanel(_ABLATED, "rims-balls4", context=15, horizon=15, metrics=("bce",), figure="strip"),
            _strip_panel(_ABLATED[1:], "brims-curtain", 15, 15),
        ),
        also=(16,),
        differs="The table has means over the whole rollout, and the curves each frame; the paper's 4th and 5th frame "
        "are steps 4 and 5 in scores.csv. On which balls is not said. The curves of learning are in TensorBoard and in "
        "`videopred report`.",
    ),
    "rims-figure-21": _each_silenced(21, active=2, modules=4, units=100, width=_NO_WIDTH),
    "rims-figure-22": _each_silenced(22, active=3, modules=4, units=100, width=_NO_WIDTH),
    "rims-figure-23": _each_silenced(23, active=2, modules=5, units=80, width=_WIDTH),
    "rims-figure-24": _each_silenced(24, active=3, modules=5, units=80, width=_WIDTH),
    "rims-figure-25": _each_silenced(25, active=4, modules=5, units=80, width=_WIDTH),
    "scoff-figure-3": PaperFigure(
        "SCOFF, figures 3, left, and 6 (b)",
        "Which schema SCOFF uses on a ball that accelerates, keeps its velocity or walks at random.",
        _frames_and_schemata("scoff-motion3", 10, 10, ("--clips", "0", "2", "4")),  # one of each motion
        also=(6,),
        differs="The weights of the schemata are drawn over time, beside strips; the paper has a bar at each frame.",
    ),
    "scoff-figure-5": PaperFigure(
        "SCOFF, figure 5",
        "Errors of SCOFF and RIMs relative to a GRU's, over 10 and 30 imagined frames, on four data sets.",
        _relative_to_gru(),
        together="means",
        differs="The GRU is as wide as all object files together; the paper does not say how wide its own is, nor "
        "which error it means: ours is BCE. RIMs are 6 modules of 100, of which 4 are active. Points with intervals "
        "over clips, in the place of bars.",
    ),
    "scoff-figure-7": PaperFigure(
        "SCOFF, figure 7",
        "Errors of SCOFF, RIMs and RMC relative to a GRU's, over 10 and 30 imagined frames, on four data sets.",
        _relative_to_gru("rmc"),
        together="means",
        differs="As for figure 5; the RMC is as wide as the GRU, with an eighth of its core parameters (at paper "
        "scale), and a twenty-second where there are 8 object files. Appendix C calls SCOFF, as it is here, SCOFF-ab, "
        "and gives its name to one of which some object files rest; that one is left out: how many is unpublished.",
    ),
    "scoff-figure-8": PaperFigure(
        "SCOFF, figures 8 to 12",
        "Strips of SCOFF on 4 balls, behind a curtain, on 6 to 8 balls, and on colored balls of both numbers.",
        (
            _strip_panel(_with((), "scoff-balls4"), "scoff-balls4", 10, 30),
            _strip_panel(_with((), "scoff-curtain"), "scoff-curtain", 10, 30),
            _strip_panel(_with((), "scoff-balls678"), "scoff-balls678", 10, 30),
            _strip_panel(_with((), "scoff-colored4"), "scoff-colored4", 10, 25),
            _strip_panel(_with((), "scoff-colored678"), "scoff-colored678", 10, 25),
        ),
        also=(9, 10, 11, 12),
        differs="Every fourth frame, given or not; the paper shows the last 6 given frames, then the rollout.",
    ),
    "scoff-figure-15": PaperFigure(
        "SCOFF, figures 4, 14 and 15",
        "A ball that switches its motion once, and which schema each object file uses.",
        _frames_and_schemata("scoff-switching", 46, 5, ("--clips", "0", "2")),  # along x first, and along y first
        also=(4, 14),
        differs="Of 6 object files, as in appendix F; section 5, of figure 4, has one. All frames but the last five "
        "are given, so that the model sees the bulbs switch. The switch, a red "
        "box in the paper's figure 14, is a dotted line above the schemata.",
    ),
    "scoff-table-1": PaperFigure(
        "SCOFF, table 1",
        "SCOFF and RMC tell possible from impossible films.",
        (PaperPanel(_with(("rmc",), "scoff-intphys"), "scoff-intphys", plausibility=True),),
        differs="On our own films in the style of IntPhys; O1, O2 and O3 occluded are the paper's columns, by the mean "
        "over frames; at `tiny`, where all scenes are occluded, O1, O2 and O3 are. Its numbers, on IntPhys, are in the "
        "repository's eval/papers/. The RMC is as wide as SCOFF, with a fifth of its core parameters (at paper scale). "
        "The paper's third row, Riochet et al.'s own model, is left out; its numbers are means over three seeds, ours "
        "of one run unless `--seeds` names more.",
    ),
    "brims-figure-3": PaperFigure(
        "BRIMs, figure 3",
        "SSIM and MSE on moving digits of other classes than those trained on.",
        (
            PaperPanel(
                _with(("lstm",), "brims-smmnist"), "brims-smmnist", context=5, horizon=25, metrics=("ssim-svg", "mse")
            ),
        ),
        differs="The paper's rival is SVG-LP, which is not in here; ours is an LSTM. The paper takes the best of "
        "several films of each clip; ours has one, in which nothing is drawn by chance. SSIM is SVG's.",
    ),
    "brims-figure-4": PaperFigure(
        "BRIMs, figure 4",
        "BRIMs, LSTM and RIMs over 35 imagined frames: 4 balls, and the curtain.",
        tuple(
            PaperPanel((*_with(("lstm",), name), _rims_on(name)), name, context=15, horizon=35, metrics=("bce",))
            for name in ("brims-balls4", "brims-curtain")
        ),
        together="curves",
        differs="Models of the curtain are also trained behind it, which the paper leaves open. RIMs are 6 modules of "
        "100, of which 4 are active; the LSTM is as wide as both layers of BRIMs.",
    ),
    "brims-figure-5": PaperFigure(
        "BRIMs, figure 5",
        "BRIMs on 4 balls, with sparse activation on both layers, on one, on none, and with fewer modules.",
        (PaperPanel(_SPARSE, "brims-balls4", context=15, horizon=35, metrics=("bce",)),),
        differs="The paper's sizes stand in its legend alone, and it does not say which balls: both are our choice.",
    ),
}
"""Name -> figure. Not in here: what is of no video (RIMs 2, 4 and 5; BRIMs 2), and what only shows a data set."""


def find_figure(name: str) -> tuple[str, PaperFigure]:
    """A figure by its name, or by that of another which is made with it, such as rims-figure-9; and its name.

    Raises:
        ValueError: there is no such figure.
    """
    made_with = {
        re.sub(r"\d+$", str(number), first): first for first, figure in PAPER_FIGURES.items() for number in figure.also
    }
    if re.fullmatch(rf"({'|'.join(PAPERS)}|rmc)-(figure|table)-\d+", name) and name not in {*PAPER_FIGURES, *made_with}:
        fix = "it is of no video, or only shows data; or there is none of that number"
        raise ValueError(check.complaint("FIGURE", "be one of `videopred list figures`", name, fix))
    found = made_with.get(name) or check.one_of("FIGURE", name, PAPER_FIGURES)
    return found, PAPER_FIGURES[found]
