"""Which of several processes this is, known before Lightning has started them."""

from lightning.pytorch.utilities import rank_zero_only


def is_first() -> bool:
    """Whether this process is the one that writes and speaks."""
    return getattr(rank_zero_only, "rank", 0) == 0
