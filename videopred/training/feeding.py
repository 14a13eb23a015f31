"""What a predictor is fed in training: true frames, true frames with flipped pixels, or its own predictions."""

import torch
from torch import Tensor

from videopred.models.predictor import Predictor
from videopred.rollout import predict_on


def predict_next(
    predictor: Predictor, film: Tensor, own: int = 0, *, noise: float = 0.0, sampling: float = 0.0
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
        sampling: see above.
    """
    given = film[:, : film.shape[1] - 1 - own]
    if noise:
        flipped = (torch.rand(given.shape, device=film.device) < noise).to(given.dtype)
        given = given + flipped - 2 * given * flipped
    if not sampling:
        return predict_on(predictor, given, own).logits
    fed_back = torch.rand(film.shape[0], film.shape[1] - 1, device=film.device) < sampling
    said, state = predictor(given[:, :1])[:2]
    logits = [said]
    for t in range(1, film.shape[1] - 1):
        imagined = torch.sigmoid(logits[-1])
        if t < given.shape[1]:
            frame = torch.where(fed_back[:, t, None, None, None, None], imagined, given[:, t : t + 1])
        else:
            frame = imagined
        said, state = predictor(frame, state)[:2]
        logits.append(said)
    return torch.cat(logits, 1)
