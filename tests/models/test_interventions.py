"""Interventions touch what they name, from when they say, and nothing else."""

import numpy as np
import pytest
import torch
from tiny_runs import FRAMES, HEIGHT, WIDTH, tiny_model
from torch.utils import _pytree as tree

from videopred.models import DECODERS, build
from videopred.models.core import unroll
from videopred.models.intervention_settings import Intervention
from videopred.models.interventions import Counted, Intervened, _silenced, intervene, without_each
from videopred.rollout import roll_out

LAYERED = ("brims", "hierarchical-rims", "mld-rims")
MODULAR = ("rims", *LAYERED, "scoff", "rmc")
CONTEXT, HORIZON, CLIPS = 3, 4, 2


def model(core: str, **changes):
    torch.manual_seed(1)
    config = tiny_model(core)
    return build(config.model_copy(update={"core": config.core.changed(**changes)}), (1, HEIGHT, WIDTH)).eval()


def film() -> torch.Tensor:
    return torch.rand(CLIPS, CONTEXT, 1, HEIGHT, WIDTH, generator=torch.Generator().manual_seed(2))


def rolled(predictor, **what) -> torch.Tensor:
    changed = intervene(predictor, Intervention(**what), CONTEXT) if what else predictor
    return roll_out(changed, film(), HORIZON).prediction


def layers_of(core, state) -> list:
    """The part of a state that is of each layer of modules."""
    return [state] if len(core.state_rows) == 1 else list(state)


@pytest.mark.parametrize("core", MODULAR)
def test_a_core_addresses_its_rows_and_gives_out_what_belongs_to_a_state(core):
    ours = model(core).core
    slots = torch.rand(CLIPS, FRAMES, 1 if core != "scoff" else 4, ours.input_size)
    done = unroll(ours, slots)
    torch.testing.assert_close(ours.given_out(done.state), done.output[:, -1], rtol=0, atol=0)
    for rows, part in zip(ours.state_rows, layers_of(ours, done.state), strict=True):
        leaves = tree.tree_leaves(part)
        assert leaves
        assert all(leaf.shape[:2] == (CLIPS, rows) for leaf in leaves)


@pytest.mark.parametrize("core", MODULAR)
def test_doing_nothing_changes_nothing(core):
    untouched = rolled(model(core))
    for what, frames in (({"without": ()}, HORIZON), ({"without": (0,), "from_step": HORIZON}, HORIZON - 1)):
        same = rolled(model(core), **what)[:, :frames]
        torch.testing.assert_close(same, untouched[:, :frames], rtol=0, atol=0)


def test_a_compiled_model_stays_as_it_is():
    predictor = model("rims")
    compiled = torch.compile(predictor, backend="eager")
    parts = list(dict(predictor.named_children()))
    what = Intervention(without=(1,))
    changed, expected = (roll_out(intervene(one, what, CONTEXT), film(), HORIZON) for one in (compiled, predictor))
    torch.testing.assert_close(changed.prediction, expected.prediction, rtol=0, atol=0)
    assert list(dict(predictor.named_children())) == list(dict(compiled._orig_mod.named_children())) == parts


def test_doing_nothing_is_possible_without_modules():
    torch.testing.assert_close(rolled(model("gru"), without=()), rolled(model("gru")), rtol=0, atol=0)


@pytest.mark.parametrize(("core", "layer"), [*((core, 0) for core in MODULAR), *((core, 1) for core in LAYERED)])
def test_swapped_modules_go_on_from_the_state_of_the_other(core, layer):
    ours = model(core).core
    slots = torch.rand(CLIPS, FRAMES, 1 if core != "scoff" else 4, ours.input_size)
    layers = layers_of(ours, unroll(ours, slots[:, :4]).state)
    layers[layer] = tree.tree_map(lambda leaf: leaf[:, [2, 1, 0, *range(3, leaf.shape[1])]], layers[layer])
    by_hand = unroll(ours, slots[:, 4:], layers[0] if len(layers) == 1 else tuple(layers))
    first = sum(ours.state_rows[:layer])
    done = unroll(Intervened(ours, Intervention(swap=(f"{first},{first + 2}",)), first=4), slots)
    torch.testing.assert_close(done.output[:, 4:], by_hand.output, rtol=0, atol=0)
    torch.testing.assert_close(done.state.core, by_hand.state, rtol=0, atol=0)


@pytest.mark.parametrize("core", ["rims", "rmc"])
@pytest.mark.parametrize("what", [{"without": (1,)}, {"freeze": (0, 1, 2)}, {"swap": ("0,2",)}])
@pytest.mark.parametrize("from_step", [1, 3])
def test_frames_before_an_intervention_stay_and_those_from_it_on_change(core, what, from_step):
    untouched, changed = rolled(model(core)), rolled(model(core), **what, from_step=from_step)
    torch.testing.assert_close(changed[:, : from_step - 1], untouched[:, : from_step - 1], rtol=0, atol=0)
    assert not torch.equal(changed[:, from_step - 1], untouched[:, from_step - 1])


@pytest.mark.parametrize("core", MODULAR)
def test_a_silenced_module_is_not_said_to_read(core):
    """Its state is zeros, which would attend to every slot alike. Of layers, it is the first module of the second."""
    predictor = model(core)
    silenced = predictor.core.state_rows[0] if len(predictor.core.state_rows) > 1 else 0
    changed = intervene(predictor, Intervention(without=(silenced,)), CONTEXT)
    trace = roll_out(changed, film(), HORIZON, trace=True).trace
    *_, read = (values for name, values in trace.items() if name.rpartition(".")[2] == "input_attention")
    before, since = (read[:, steps].sum((1, 2, 4)) for steps in (slice(CONTEXT - 1), slice(CONTEXT - 1, None)))
    assert (before > 0).all()
    assert (since[:, 0] == 0).all()
    assert (since[:, 1:] > 0).all()
    for name, values in trace.items():
        layer, _, kind = name.rpartition(".")
        if kind == "comm_attention" and not (layer == "layer0" and silenced):
            heard = values[:, CONTEXT - 1 :].sum((1, 2, 4))  # by each
            assert (heard[:, 0] == 0).all(), name
            assert (heard[:, 1:] > 0).all(), name
        if kind in ("null_attention", "top_down") and not (layer == "layer0" and silenced):
            assert (values[:, CONTEXT - 1 :, 0] == 0).all(), name
            assert (values[:, CONTEXT - 1 :, 1:] > 0).all(), name


def test_a_silenced_module_of_the_lowest_layer_is_not_said_to_read_the_one_above():
    changed = intervene(model("brims"), Intervention(without=(1,)), CONTEXT)
    read = roll_out(changed, film(), HORIZON, trace=True).trace["layer0.top_down"][:, CONTEXT - 1 :]
    assert (read.sum((0, 1)) > 0).tolist() == [True, False, True, True]


@pytest.mark.parametrize("core", MODULAR)
def test_of_a_silenced_module_nobody_hears_what_it_was_before(core):
    ours = model(core).core
    slots = torch.rand(CLIPS, FRAMES, 1 if core != "scoff" else 4, ours.input_size)
    state = unroll(ours, slots).state
    first, *others = layers_of(ours, state)

    def moved(leaf: torch.Tensor) -> torch.Tensor:
        return torch.cat([leaf[:, :1] + 3, leaf[:, 1:]], 1) if leaf.dim() > 2 else leaf

    other = tree.tree_map(moved, first)
    changed = Intervened(ours, Intervention(without=(0,)), 0)
    projected = next(iter(changed.project(slots)))
    outputs = [
        changed.advance(projected, Counted(one, torch.zeros(CLIPS, dtype=torch.int64)))[0]
        for one in (state, type(state)((other, *others)) if others else other)
    ]
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=0)


@pytest.mark.parametrize("core", ["rims", "brims", "scoff"])
def test_a_frozen_module_leaves_the_draw_of_active_ones_as_it_is(core):
    predictor = model(core, competition="random", **({"active": 1} if core == "scoff" else {}))
    changed = intervene(predictor, Intervention(freeze=(1,)), CONTEXT)
    traces = [roll_out(one, film(), 3 * HORIZON, trace=True).trace for one in (predictor, changed)]
    (name,) = {name for name in traces[0] if name.rpartition(".")[2] == "active" and not name.startswith("layer1")}
    assert torch.equal(traces[0][name], traces[1][name])
    assert 0 < traces[0][name].float().mean() < 1


def test_a_silenced_module_is_zero_in_every_tensor_of_numbers():
    level, count = torch.rand(CLIPS, 3), torch.full((CLIPS, 3), 7)
    silence = _silenced((1,))
    assert torch.equal(silence(range(3), level), level * torch.tensor([1, 0, 1]))
    assert torch.equal(silence(range(3), count), count)


def test_a_silenced_file_is_not_said_to_use_a_schema():
    for changes in ({}, {"active": 1}):
        predictor = model("scoff", **changes)
        changed = intervene(predictor, Intervention(without=(1,)), CONTEXT)
        trace = roll_out(changed, film(), HORIZON, trace=True).trace
        schema, weights = (trace[name][:, CONTEXT - 1 :] for name in ("schema", "schema_weights"))
        assert (schema[:, :, 1] == -1).all()
        assert (schema[:, :, [0, 2]] >= 0).any(-1).all()
        assert (weights[:, :, 1] == 0).all()
        torch.testing.assert_close(weights[:, :, [0, 2]].sum(-1), torch.ones_like(schema[:, :, [0, 2]]).float())


@pytest.mark.parametrize("core", MODULAR)
def test_with_all_modules_silent_every_frame_is_what_zeros_decode_to(core):
    predictor = model(core)
    total = sum(predictor.core.state_rows)
    silent = rolled(predictor, without=tuple(range(total)))
    zeros = torch.zeros(1, predictor.core.rows, predictor.core.units)
    frame = torch.sigmoid(predictor.decoder(zeros)[0])
    torch.testing.assert_close(silent, frame.expand_as(silent[0]).expand_as(silent).contiguous())


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("core", MODULAR)
def test_frozen_modules_keep_their_state_to_the_bit_and_others_move(core, every):
    """All, or the last but one alone, which of layers is in the upper. All are active, or some would rest as well."""
    active = {"active": tiny_model(core).core.modules} if core.endswith("rims") else {}
    ours = model(core, **active).core
    slots = torch.rand(CLIPS, FRAMES, 1 if core != "scoff" else 4, ours.input_size)
    total = sum(ours.state_rows)
    frozen = tuple(range(total)) if every else (total - 2,)
    before = unroll(ours, slots[:, :4]).state
    done = unroll(Intervened(ours, Intervention(freeze=frozen), first=4), slots)
    layers = (layers_of(ours, state) for state in (before, done.state.core))
    for modules, *parts in zip(torch.arange(total).split(ours.state_rows), *layers, strict=True):
        for old, new in zip(*map(tree.tree_leaves, parts), strict=True):
            kept = [torch.equal(*rows) for rows in zip(old.unbind(1), new.unbind(1), strict=True)]
            assert kept == [module in frozen for module in modules.tolist()]
    assert done.state.steps.tolist() == [FRAMES] * CLIPS


def test_files_without_weights_of_their_own_can_be_swapped_unseen():
    """SCOFF's files are exchangeable, and so is what decodes them: a film does not tell their order."""
    for decoder in ("files", "masks"):
        torch.manual_seed(1)
        config = tiny_model("scoff").model_copy(update={"decoder": DECODERS[decoder][0]()})
        predictor = build(config, (1, HEIGHT, WIDTH)).eval()
        torch.testing.assert_close(rolled(predictor, swap=("0,2",)), rolled(predictor), rtol=1e-4, atol=1e-5)


def test_a_schema_is_used_by_every_file_and_one_chosen_anyway_changes_nothing():
    predictor = model("scoff")
    for schema in range(2):
        forced = intervene(predictor, Intervention(force_schema=schema), CONTEXT)
        trace = roll_out(forced, film(), HORIZON, trace=True).trace["schema"]
        assert (trace[:, CONTEXT - 1 :] == schema).all()
    only = model("scoff", schemata=1)
    torch.testing.assert_close(rolled(only, force_schema=0), rolled(only))
    frozen = model("scoff", frozen_schema=True)
    forced = intervene(frozen, Intervention(force_schema=1), CONTEXT)
    trace = roll_out(forced, film(), HORIZON, trace=True).trace
    assert (trace["schema"][:, CONTEXT - 1 :] == 1).all()
    assert torch.equal(trace["schema_weights"], torch.nn.functional.one_hot(trace["schema"], 2).float())


def test_a_context_other_than_that_of_the_intervention_is_refused():
    """Else it would begin before the rollout, or after its first frames."""
    changed = intervene(model("rims"), Intervention(without=(1,), from_step=2), CONTEXT)
    assert roll_out(changed, film(), HORIZON).prediction.shape[1] == HORIZON
    message = rf"^context must have as many frames as `intervene` was told, {CONTEXT}, got {CONTEXT - 1}; give both"
    with pytest.raises(ValueError, match=message):
        roll_out(changed, film()[:, 1:], HORIZON)


def test_a_core_with_schemata_that_cannot_be_told_which_to_use_says_what_is_lacking():
    predictor = model("rims")
    predictor.core.schema_count = 2
    with pytest.raises(
        ValueError, match=r"^RUN must have a method `with_schema` beside schema_count, see .*, got rims"
    ):
        intervene(predictor, Intervention(force_schema=1), CONTEXT)


def test_first_states_are_drawn_from_the_generator_that_is_given():
    core = model("scoff").core
    plain, changed = (
        one.initial_state(CLIPS, generator=torch.Generator().manual_seed(4))
        for one in (core, Intervened(core, Intervention(freeze=(1,)), first=0))
    )
    torch.testing.assert_close(changed.core, plain, rtol=0, atol=0)


def test_the_untouched_predictor_stays_as_it_was_and_shares_its_weights():
    predictor = model("rims")
    before = rolled(predictor)
    changed = intervene(predictor, Intervention(without=(1,)), CONTEXT)
    assert {id(p) for p in changed.parameters()} == {id(p) for p in predictor.parameters()}
    rolled(predictor, without=(0,))
    torch.testing.assert_close(rolled(predictor), before, rtol=0, atol=0)


@pytest.mark.parametrize("core", ["gru", "lstm", "lstm-h", "lstm-hb", "transformer"])
def test_a_core_without_modules_refuses(core):
    message = rf"RUN must have modules to silence, freeze or swap, got (?i:{core}); take a model with"
    with pytest.raises(ValueError, match=message):
        rolled(model(core), freeze=(0,))
    with pytest.raises(ValueError, match=message):
        next(without_each(model(core), CONTEXT))


@pytest.mark.parametrize(
    ("core", "what", "message"),
    [
        ("rims", {"without": (4,)}, "--without must lie in 0 to 3, the modules of this rims, got 4; choose"),
        ("rims", {"without": (-1,)}, "--without must lie in 0 to 3, the modules of this rims, got -1; choose"),
        ("brims", {"freeze": (7,)}, "--freeze must lie in 0 to 6, the modules of this brims, got 7; choose"),
        ("lstm-ha", {"freeze": (2,)}, "--freeze must lie in 0 to 1, the modules of this lstm-ha, got 2; choose"),
        ("lstm-hab", {"force_schema": 0}, "--schema must be left out without schemata, got 0 for lstm-hab; take a"),
        ("brims", {"swap": ("3,4",)}, "--swap must name two modules of one layer, got 3,4; layers may differ"),
        ("scoff", {"force_schema": 2}, "--schema must lie in 0 to 1, the schemata of this scoff, got 2; choose"),
        ("scoff", {"force_schema": -1}, "--schema must lie in 0 to 1, the schemata of this scoff, got -1; choose"),
        ("rims", {"force_schema": 0}, "--schema must be left out without schemata, got 0 for rims; take a model"),
        ("rims", {"swap": ("1,1",)}, "--swap must be two different modules with a comma between them, got 1,1; write"),
        ("rims", {"swap": ("1,01",)}, "--swap must be two different modules with a comma between them, got 1,01"),
        ("rims", {"swap": ("a,1",)}, "--swap must be two different modules with a comma between them, got a,1; write"),
        ("rims", {"without": (2, 2)}, "--without must name each once, got 2 twice; leave one out"),
        ("rims", {"freeze": (0, 1, 0)}, "--freeze must name each once, got 0 twice; leave one out"),
        ("rims", {"swap": ("0,1", "1,0")}, "--swap must name each pair once, got 0,1 1,0; the second undoes the first"),
        (
            "rims",
            {"without": (2, 1), "freeze": (1, 2)},
            "--freeze must name no module of --without, got 1, 2; a",
        ),
        ("rims", {"without": (1,), "swap": ("0,1",)}, "--swap must name no module of --without, got 1; a"),
        ("rims", {"from_step": 3}, "--from-step must be left out without an intervention, got 3; give --without,"),
        ("rims", {"from_step": 0}, "--from-step must be at least 1, got 0; the first frame that the model imagines"),
    ],
)
def test_what_cannot_be_done_is_refused(core, what, message):
    with pytest.raises(ValueError, match=message):
        rolled(model(core), **what)


def test_an_intervention_says_in_words_what_is_done():
    assert Intervention().words == ()
    assert Intervention(without=(2,)).words == ("without 2",)
    both = Intervention(freeze=(0, 3), swap=("1,2",), force_schema=0, from_step=4)
    assert both.words == ("freeze 0 3", "swap 1,2", "schema 0", "from step 4")
    assert [both.model_copy(update={"from_step": step}).words[3:] for step in (1, 2)] == [(), ("from step 2",)]


def test_an_intervention_may_begin_at_the_last_step_of_a_rollout_and_not_behind_it():
    late = Intervention(without=(1,), from_step=5)
    late.check_beginning(5)
    with pytest.raises(ValueError, match=r"^--from-step must be at most 4, the steps of the rollout, got 5; lower it"):
        late.check_beginning(4)
    changed = intervene(model("rims"), late, CONTEXT)
    assert roll_out(changed, film(), 5).prediction.shape[1] == 5
    with pytest.raises(ValueError, match=r"^--from-step must be at most 4, the steps of the rollout, got 5; lower it"):
        roll_out(changed, film(), 4)


def test_a_predictor_under_an_intervention_is_not_changed_again():
    once = intervene(model("rims"), Intervention(without=(1,)), 3)
    message = (
        "^predictor must be without an intervention, got one under an intervention already; name all changes in one"
    )
    with pytest.raises(ValueError, match=message):
        intervene(once, Intervention(freeze=(2,)), 3)


def test_an_intervention_needs_a_frame_of_context():
    with pytest.raises(ValueError, match="--context must be at least 1, got 0; give at least one frame to start from"):
        intervene(model("rims"), Intervention(swap=("0,2",)), 0)


def test_a_context_may_be_a_small_number_of_numpys():
    late = Intervention(without=(1,), from_step=100)
    assert intervene(model("rims"), late, np.uint8(200)).core.first == 298
