"""FG-ARI beside torchmetrics, mIoU beside slow code, and both by hand."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch
from made_up_objects import STEPS, as_predicted, blank, lost, score, swapped, true_objects
from torch import Tensor
from torchmetrics.functional.clustering import adjusted_rand_score

from videopred.eval import make_metric
from videopred.eval.objects import Objects
from videopred.eval.segmentation import contingency, rand_index

TRUE = true_objects()


def of_masks(ours: Tensor, theirs: Tensor) -> tuple[Objects, Objects]:
    nowhere = torch.full((*theirs.shape[:2], 1, 2), torch.nan).double()
    return Objects(nowhere, masks=ours), Objects(nowhere, masks=theirs)


def random_masks(seed: int) -> tuple[Tensor, Tensor]:
    """Noisy masks that resemble one another; the share of right pixels differs by frame."""
    random = torch.Generator().manual_seed(seed)
    shape = (2, 4, 9, 13)
    theirs = torch.randint(0, 5, shape, generator=random)
    right = torch.rand(shape, generator=random) < torch.linspace(0.1, 0.9, 4).view(1, -1, 1, 1)
    return torch.where(right, 4 - theirs, torch.randint(0, 7, shape, generator=random)), theirs


@pytest.mark.parametrize("seed", range(4))
def test_fg_ari_is_that_of_torchmetrics(seed):
    ours, theirs = random_masks(seed)
    by_frame = make_metric("fg-ari").measure(*of_masks(ours, theirs))["total"]
    whole = make_metric("fg-ari-clip").measure(*of_masks(ours, theirs))["total"]
    for clip, frame in np.ndindex(2, 3):
        for values, frames in ((by_frame, slice(frame + 1, frame + 2)), (whole, slice(1, frame + 2))):
            seen = theirs[clip, frames] > 0
            expected = adjusted_rand_score(ours[clip, frames][seen], theirs[clip, frames][seen]).item()
            assert values[clip, frame].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_miou_is_that_of_the_best_of_all_matchings(seed):
    ours, theirs = random_masks(seed)
    total = make_metric("miou").measure(*of_masks(ours, theirs))["total"]
    for clip, frame in np.ndindex(2, 3):
        our, their = ours[clip, frame + 1], theirs[clip, frame + 1]
        shares = [
            [((our == p) & (their == t)).sum().item() / ((our == p) | (their == t)).sum().item() for p in range(1, 7)]
            for t in range(1, 5)
        ]
        best = max(sum(shares[t][p] for t, p in enumerate(chosen)) for chosen in permutations(range(6), 4))
        assert total[clip, frame].item() == pytest.approx(best)


def test_trading_places_is_free_in_a_frame_and_not_over_the_clip():
    predicted = swapped(TRUE, 4)
    assert score("fg-ari", predicted) == pytest.approx([1.0] * STEPS, abs=0.06)  # discs of other radii
    over_clip = score("fg-ari-clip", predicted)
    assert over_clip[:3] == pytest.approx([1.0] * 3)
    assert max(over_clip[3:]) < 0.95


def test_a_lost_object_is_a_quarter_of_miou():
    assert score("miou", lost(TRUE, 3)) == pytest.approx([1.0] * 2 + [0.75] * 5)
    assert score("miou", blank(TRUE)) == [0.0] * STEPS


def test_blank_and_merged_masks_are_worth_nothing():
    assert score("fg-ari", blank(TRUE)) == pytest.approx([0.0] * STEPS)
    merged = replace(as_predicted(TRUE), masks=(TRUE.masks > 0).byte())
    assert score("fg-ari", merged) == pytest.approx([0.0] * STEPS)


def test_frames_with_fewer_than_two_objects_do_not_count():
    masks = TRUE.masks.clone()
    masks[:, 3][masks[:, 3] > 1] = 0
    masks[:, 4] = 0
    true = replace(TRUE, masks=masks)
    values = torch.tensor(score("fg-ari", as_predicted(true), true))
    assert values.isnan().tolist() == [False, False, True, True, False, False, False]
    assert score("miou", as_predicted(true), true)[2] == 1.0
    assert torch.tensor(score("miou", as_predicted(true), true)).isnan().tolist()[3]


def test_an_object_of_one_pixel_is_in_sight():
    theirs = torch.zeros(1, 2, 3, 5, dtype=torch.uint8)
    theirs[:, :, 0, 4], theirs[:, :, 2, 1:4] = 1, 2
    assert score("fg-ari", *of_masks(theirs, theirs)) == [1.0]
    assert score("miou", *of_masks(theirs * (theirs > 1), theirs)) == [0.5]


def test_the_background_does_not_count_for_the_index():
    busy = TRUE.masks.clone()
    busy[TRUE.masks == 0] = 7
    assert score("fg-ari", replace(as_predicted(TRUE), masks=busy)) == pytest.approx([1.0] * STEPS)


def test_contingency_by_hand():
    """Of five pixels, the last of which is of nothing in both."""
    ours, theirs = torch.tensor([[0, 1, 1, 2, 0]]), torch.tensor([[1, 1, 0, 2, 0]])
    table = contingency(ours[None, None], theirs[None, None], background=True)
    assert table[0, 0].tolist() == [[0, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert contingency(ours[None, None], theirs[None, None], background=False)[0, 0, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("height", "width"), [(3, 5), (3, 6), (6, 10), (4, 6)])  # pixels in 1s, 2s, 4s and 8s
@pytest.mark.parametrize("numbers", [5, 17, 300])  # pairs of numbers in 1, 2 and 4 bytes
@pytest.mark.parametrize("background", [False, True])
def test_contingency_is_a_plain_count_for_frames_of_any_size(height, width, numbers, background):
    random = torch.Generator().manual_seed(0)
    draws = torch.randint(-2 * numbers, numbers, (2, 2, 3, height, width), generator=random)
    ours, theirs = draws.clamp(min=0)
    expected = torch.zeros(2, 3, int(theirs.max()) + 1, int(ours.max()) + 1, dtype=torch.float64)
    for place in np.ndindex(2, 3, height, width):
        if theirs[place] > 0 or (background and ours[place] > 0):
            expected[*place[:2], theirs[place], ours[place]] += 1
    assert torch.equal(contingency(ours, theirs, background=background), expected)


def test_the_index_of_trivial_partitions_is_one():
    """Of one part, and of parts of one pixel each, as in scikit-learn."""
    for table in ([[3.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0]]):
        assert rand_index(torch.tensor(table).double()) == 1.0
    assert rand_index(torch.tensor([[2.0, 1.0]]).double()) == 0.0


def test_the_worst_index_is_where_its_range_begins():
    """Two objects of two pixels, one of each in either mask; intervals in figures are cut at the range."""
    theirs, ours = (torch.tensor([row]).expand(3, 2, 1, 4) for row in ([1, 1, 2, 2], [1, 2, 1, 2]))
    assert score("fg-ari", *of_masks(ours, theirs)) == pytest.approx([make_metric("fg-ari").range[0]])


@pytest.mark.parametrize("name", ["fg-ari", "fg-ari-clip", "miou"])
def test_large_numbers_of_objects_are_names_as_good_as_small_ones(name):
    ours, theirs = random_masks(5)
    small, large = of_masks(ours, theirs), of_masks(41 * ours, 37 * theirs)
    assert score(name, *large) == pytest.approx(score(name, *small))


def test_masks_of_another_size_or_kind_are_refused():
    metric = make_metric("miou")
    small = replace(as_predicted(TRUE), masks=TRUE.masks[..., 1:])
    with pytest.raises(ValueError, match=r"predicted masks must have the size of the true ones, \(3, 7, 33, 47\), got"):
        metric.measure(small, TRUE)
    with pytest.raises(TypeError, match=r"predicted masks must be whole numbers, got torch.float32; give the number"):
        metric.measure(replace(small, masks=TRUE.masks.float()), TRUE)
    with pytest.raises(TypeError, match=r"true masks must be whole numbers, got torch.bool; give the number of the"):
        metric.measure(as_predicted(TRUE), replace(TRUE, masks=TRUE.masks > 0))  # which tell no object from another
    with pytest.raises(ValueError, match="metric miou must have the predicted masks, got none; give them"):
        metric.measure(replace(small, masks=None), TRUE)
    below = TRUE.masks.int() - 1
    with pytest.raises(ValueError, match="predicted masks must be at least 0, which is no object, got -1; count"):
        metric.measure(replace(as_predicted(TRUE), masks=below), TRUE)
    with pytest.raises(ValueError, match="true masks must be at least 0"):
        metric.measure(as_predicted(TRUE), replace(TRUE, masks=below))
