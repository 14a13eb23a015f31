"""What a predictor is fed in training: true frames, true frames with flipped pixels, or its own predictions."""

from collections.abc import Sequence

import torch
from torch import Tensor

from videopred.models.predictor import Prediction, Predictor
from videopred.rollout import continue_from, predict_on
from videopred.training.painted_loss import Loss, painted_loss


def logits_of_next(
    predictor: Predictor, film: Tensor, own: int = 0, *, noise: float = 0.0, sampling: float | Tensor = 0.0
) -> Tensor:
    """Logits (B, T − 1, C, H, W) about every frame but the first.

    The last `own` of them are predicted from the model's own predictions. Before those, each true frame but the first
    gives way to the prediction of it with probability `sampling`, drawn for each clip and frame. Gradients flow
    through what is fed back, unlike in Bengio et al. 2015, whose samples are words.

    Args:
        predictor: used in the mode it is in.
        film: (B, T, C, H, W) float in [0, 1].
        own: frames at the end that are fed back, at most T − 2.
        noise: share of the values of true frames that become one minus themselves.
        sampling: see above. A number on the device, which is not looked at, lets a recorded graph read it anew.
    """
    given = _given(film, own, noise)
    if _is_zero(sampling):
        return predict_on(predictor, given, own).logits
    fed_back = _drawn((len(film), film.shape[1] - 1), sampling, film.device)
    said, state = predictor(given[:, :1])[:2]
    logits = [said]
    for t in range(1, film.shape[1] - 1):
        frame = torch.sigmoid(logits[-1])
        if t < given.shape[1]:
            frame = torch.where(fed_back[:, t, None, None, None, None], frame, given[:, t : t + 1])
        said, state = predictor(frame, state)[:2]
        logits.append(said)
    return torch.cat(logits, 1)


def loss_of_next(
    predictor: Predictor, film: Tensor, loss: Loss, own: int = 0, *, noise: float = 0.0, sampling: float | Tensor = 0.0
) -> Tensor:
    """The loss of what `logits_of_next` gives, of which no more is in memory at once than has to be.

    Frames that nothing follows from, all that are given but the last, are painted in blocks; see `painted_loss`.
    """
    if not _is_zero(sampling):
        return loss(logits_of_next(predictor, film, own, noise=noise, sampling=sampling), film[:, 1:])
    outputs, state, _ = predictor.observe(_given(film, own, noise))
    last = Prediction(predictor.paint(outputs[:, -1:])[0], state, {})
    early, late = outputs.shape[1] - 1, 1 + own
    lost = late * loss(continue_from(predictor, last, own).logits, film[:, 1 + early :])
    if early:
        lost = lost + early * painted_loss(predictor, outputs[:, :-1], film[:, 1 : 1 + early], loss)
    return lost / (early + late)


def _given(film: Tensor, own: int, noise: float) -> Tensor:
    """The true frames of a film that are fed, with flipped pixels."""
    given = film[:, : film.shape[1] - 1 - own]
    if not noise:
        return given
    flipped = _drawn(given.shape, noise, film.device).to(given.dtype)
    return given + flipped - 2 * given * flipped


def _is_zero(share: float | Tensor) -> bool:
    return not isinstance(share, Tensor) and share == 0


def _drawn(shape: Sequence[int], share: float | Tensor, device: torch.device) -> Tensor:
    """True for each of them with that probability. In bf16, which torch may take by itself, it would be in 256ths."""
    return torch.rand(shape, dtype=torch.float32, device=device) < share
