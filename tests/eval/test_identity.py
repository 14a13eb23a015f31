"""Identity switches beside trackeval, and tracks behind things, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_up_objects import STEPS, as_predicted, cut, drawn, hide, lost, swapped, true_objects
from trackeval.metrics import CLEAR

from videopred.eval import make_metric
from videopred.eval.identity import occlusions
from videopred.eval.matching import distances, gates
from videopred.eval.object_settings import SurvivalConfig
from videopred.eval.objects import Objects

TRUE = true_objects()


def switches(predicted: Objects, true: Objects = TRUE) -> list[float]:
    metric = make_metric("switches")
    return metric.reduce(metric.measure(predicted, true)).tolist()


def test_trading_places_is_two_switches_once():
    assert switches(swapped(TRUE, 4)) == [0.0] * 3 + [2.0] + [0.0] * 3


def test_who_is_found_again_on_another_track_has_switched():
    """Ball 1 is lost for two frames and comes back as object 5."""
    nowhere = torch.full_like(TRUE.positions[:, :, :1], torch.nan)
    positions = torch.cat([TRUE.positions, nowhere], 2)
    positions[:, 3:, 0] = torch.nan
    positions[:, 5:, 4] = TRUE.positions[:, 5:, 0]
    assert switches(Objects(positions)) == [0.0] * 4 + [1.0] + [0.0] * 2


def test_who_is_hidden_is_on_no_track():
    """Another track where it is meanwhile is none of its own."""
    true = hide(TRUE, 0, 0, slice(3, 5))
    nowhere = torch.full_like(TRUE.positions[:, :, :1], torch.nan)
    positions = torch.cat([as_predicted(true).positions, nowhere], 2)
    positions[0, 3:5, 4] = TRUE.positions[0, 3:5, 0]
    assert switches(Objects(positions), true) == [0.0] * STEPS


def test_staying_is_preferred_to_being_nearer():
    """At the same place a second track appears, and the first drifts off by half a radius."""
    positions = torch.cat([TRUE.positions, TRUE.positions[:, :, :1]], 2)
    positions[:, 3:, 0] += torch.tensor([1.2, 0.0])
    positions[:, :3, 4] = torch.nan
    assert switches(Objects(positions)) == [0.0] * STEPS


def random_objects(seed: int) -> tuple[Objects, Objects]:
    """Balls that wander and vanish, and tracks that follow them badly."""
    random = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random).double()

    clips, frames, balls, tracks = 2, 25, 5, 6
    true = 20 + 3 * draw(clips, 1, balls, 2) + draw(clips, frames, balls, 2).cumsum(1) * 0.5
    ours = torch.cat([true, true[:, :, :1]], 2) + 0.8 * draw(clips, frames, tracks, 2)
    ours[:, frames // 2 :] = ours[:, frames // 2 :, torch.randperm(tracks, generator=random)]
    for places in (true, ours):
        places[torch.rand(places.shape[:3], generator=random) < 0.2] = torch.nan
    return Objects(ours), Objects(true, radius=torch.full((clips, balls), 2.0).double())


@pytest.mark.parametrize("seed", range(6))
def test_switches_are_those_of_trackeval(seed):
    predicted, true = random_objects(seed)
    ours = make_metric("switches").measure(predicted, true)["total"].sum(1)
    for clip in range(len(ours)):
        theirs = CLEAR({"PRINT_CONFIG": False}).eval_sequence(
            as_sequence(*(cut(s, slice(clip, clip + 1)) for s in (predicted, true)))
        )
        assert theirs["IDSW"] == ours[clip] > 0


def as_sequence(predicted: Objects, true: Objects) -> dict[str, object]:
    """One clip as trackeval wants it: a similarity of 0.5 is a distance of one radius."""
    apart = distances(predicted.positions, true.positions)[0]
    similarity = (1 - apart / (2 * gates(true)[0, :, None])).clamp(min=0).numpy()
    there, found = (~objects.positions[0].isnan().any(-1).numpy() for objects in (true, predicted))
    frames = range(len(there))
    return {
        "gt_ids": [np.flatnonzero(there[t]) for t in frames],
        "tracker_ids": [np.flatnonzero(found[t]) for t in frames],
        "similarity_scores": [similarity[t][np.ix_(there[t], found[t])] for t in frames],
        "num_gt_ids": there.shape[1],
        "num_tracker_ids": found.shape[1],
        "num_gt_dets": int(there.sum()),
        "num_tracker_dets": int(found.sum()),
        "num_timesteps": len(there),
    }


def test_a_track_survives_when_its_ball_comes_out_on_it():
    hidden = hide(TRUE, 1, 2, slice(2, 5))
    events = occlusions(as_predicted(hidden), hidden, SurvivalConfig())
    assert [values.tolist() for values in (events.clip, events.object, events.length, events.survived)] == [
        [1], [2], [3], [True]
    ]  # fmt: skip
    assert events.exit_error == pytest.approx([0])


def by_length(name: str, predicted: Objects, true: Objects) -> dict[int, float]:
    metric = make_metric(name)
    values = metric.reduce(metric.measure(predicted, true)).tolist()
    return {length: value for length, value in enumerate(values, 1) if value == value}


def test_survival_and_exit_are_by_length():
    """Hidden for 1 frame: found again, 0.7 px off. For 3 frames: once found, once lost for good."""
    true = hide(hide(hide(TRUE, 0, 0, slice(3, 4)), 1, 2, slice(2, 5)), 2, 2, slice(2, 5))
    positions = as_predicted(true).positions.clone()
    positions[0, 4:, 0] += torch.tensor([0.7, 0.0])
    positions[2, 5:, 2] = torch.nan
    assert by_length("survival", Objects(positions), true) == {1: 1.0, 3: 0.5}
    assert by_length("exit-error", Objects(positions), true) == {1: pytest.approx(0.7), 3: pytest.approx(0)}


def test_who_comes_out_on_its_track_and_leaves_it_at_once_has_not_survived():
    """It is there in the first frame of three."""
    true = hide(TRUE, 0, 1, slice(2, 4))
    positions = as_predicted(true).positions.clone()
    positions[0, 5:, 1] = torch.nan
    assert by_length("survival", Objects(positions), true) == {2: 0.0}


def test_who_comes_out_as_another_has_not_survived():
    """Balls 1 and 2 are hidden together and come out on each other's track."""
    true = hide(hide(TRUE, 0, 0, slice(3, 5)), 0, 1, slice(3, 5))
    predicted = as_predicted(true)
    positions = predicted.positions.clone()
    positions[0, 5:] = positions[0, 5:, [1, 0, 2, 3]]
    assert by_length("survival", Objects(positions), true) == {2: 0.0}
    apart = (TRUE.positions[0, 5, 0] - TRUE.positions[0, 5, 1]).norm().item()
    assert by_length("exit-error", Objects(positions), true) == {2: pytest.approx(apart)}


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        (slice(0, 3), "hidden from the start: nobody saw it go in"),
        (slice(4, 8), "never comes out"),
        (slice(3, 6), "the clip ends before three frames have passed"),
    ],
)
def test_occlusions_of_which_nothing_can_be_told_do_not_count(frames, why):
    true = hide(TRUE, 0, 1, frames)
    assert len(occlusions(as_predicted(true), true, SurvivalConfig()).clip) == 0, why


def test_who_was_lost_before_it_was_hidden_does_not_count():
    true = hide(TRUE, 0, 0, slice(4, 5))
    assert len(occlusions(lost(true, 1), true, SurvivalConfig()).clip) == 0
    assert len(occlusions(lost(true, 2), true, SurvivalConfig()).clip) == 1


def test_it_is_out_when_half_of_it_is_seen():
    """Of a ball that comes out slowly the first frames say little about its place."""
    visibility = hide(TRUE, 0, 0, slice(2, 4)).visibility.clone()
    visibility[0, 4, 0] = 0.49
    true = replace(TRUE, visibility=visibility)
    positions = TRUE.positions.clone()
    positions[0, 4, 0] += 99
    assert by_length("survival", Objects(positions), true) == {2: 1.0}
    assert by_length("exit-error", Objects(positions), true) == {2: 0.0}
    assert by_length("survival", Objects(TRUE.positions), true) == {2: 1.0}


@pytest.mark.parametrize(("again", "lengths"), [(5, []), (6, [1])])
def test_who_hides_again_counts_if_it_was_seen_for_three_frames(again, lengths):
    true = hide(hide(TRUE, 0, 0, slice(2, 3)), 0, 0, slice(again, again + 1))
    assert occlusions(as_predicted(true), true, SurvivalConfig()).length.tolist() == lengths


def test_short_occlusions_can_be_left_out():
    true = hide(hide(TRUE, 0, 0, slice(2, 3)), 1, 1, slice(2, 4))
    assert occlusions(as_predicted(true), true, SurvivalConfig(shortest=2)).length.tolist() == [2]


def test_hiding_hides():
    objects = hide(TRUE, 0, 2, slice(2, 4))
    assert objects.seen.sum() == TRUE.seen.sum() - 2
    assert not (objects.masks[0, 2:4] == 3).any()
    assert drawn(TRUE.positions, TRUE.radius).seen.all()


def test_who_is_half_seen_has_come_out():
    visibility, positions = hide(TRUE, 0, 0, slice(2, 4)).visibility.clone(), TRUE.positions.clone()
    visibility[0, 4, 0] = 0.5
    positions[0, 4, 0] += 0.6
    assert by_length("exit-error", Objects(positions), replace(TRUE, visibility=visibility))[2] > 0.8


@pytest.mark.parametrize(("share", "lengths"), [(0.049, [2]), (0.05, []), (np.float16(0.05), [])])
def test_an_object_is_hidden_below_a_twentieth_of_it(share, lengths):
    visibility = TRUE.visibility.clone()
    visibility[1, 3:5, 2] = float(share)
    true = replace(TRUE, visibility=visibility)
    assert occlusions(as_predicted(true), true, SurvivalConfig()).length.tolist() == lengths


def test_staying_is_preferred_to_two_new_matches():
    """Ball 1, which nobody found, is nearer to the track of ball 0, beside which there is another now."""
    places = torch.tensor([[10.0, 9.0], [12.3, 9.0]]).double().expand(1, 4, 2, 2)
    found = torch.full((1, 4, 3, 2), torch.nan).double()
    found[:, :, 0] = torch.tensor([11.9, 9.0])
    found[:, 0, 0], found[:, 1:, 1] = places[0, 0, 0], places[0, 0, 0]
    assert switches(Objects(found), Objects(places, radius=torch.full((1, 2), 2.0).double())) == [0.0] * 3
