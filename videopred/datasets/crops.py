"""Local views: small crops of each frame at random places, and the places. A door of torch, as loader.py."""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.data import Dataset

from videopred import check
from videopred.datasets.clip import PARTS
from videopred.datasets.loader import FilmDataset

_CROPS = len(PARTS)  # where clips have the number of their part, so that no stream is one that makes a clip


class CropDataset(Dataset[dict[str, Tensor]]):
    """Films with crops of them, at random places that are others in each `epoch`.

    Item i is item i of `films` as a dict, and in it:

    - `crops` (T, P, S, S, C) uint8, 0 to 255, or, of float films, (T, P, C, S, S) in [0, 1]: squares around P pixels
      of each frame, 0 beyond the borders;
    - `places` (T, P, 2) float32, px: x and y of their centres. Any pixel is as likely as any other, at any time.

    Places depend on (seed, epoch, part, clip) alone, and frames of a clip have the same in all windows.

    Args:
        films: what is cropped.
        crops: P, crops of a frame.
        size: S, side of a crop in pixels; odd, because its centre is a pixel.
        seed: source of the places; clips are made from other streams, whatever their seed.

    Raises:
        ValueError: a number is too small, or `size` is even.

    Source: crops of 11 x 11 px at ten places are what is remembered of Rahaman et al. 2020 (S2RM), whose data RIMs
        (appendix D.5) use; padding and independent places are our choice.
    """

    def __init__(self, films: FilmDataset, crops: int = 10, size: int = 11, *, seed: int = 0) -> None:
        check.require_instance("films", films, FilmDataset)
        self.films = films
        self.crops = check.whole_number("crops", crops, 1, "10 is usual")
        self.size = check.whole_number("size", size, 1, "11 is usual")
        check.require(size % 2 == 1, "size", "be odd", size, f"choose {size + 1}")
        self.seed = check.whole_number("seed", seed, 0, "give a whole number such as 0")
        # In shared memory, so that workers that live on into the next epoch learn of it.
        self._epoch = torch.zeros((), dtype=torch.int64, device="cpu").share_memory_()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.crops} crops of {self.size} px from each frame of {self.films!r}>"

    @property
    def epoch(self) -> int:
        """Which of endlessly many draws of places it gives; 0 at first. To be set between two passes."""
        return int(self._epoch)

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._epoch.fill_(check.whole_number("epoch", epoch, 0, "count epochs from 0"))

    def __len__(self) -> int:
        return len(self.films)

    def __getitem__(self, item: int) -> dict[str, Tensor]:
        got = self.films[item]
        whole = got if isinstance(got, dict) else {"frames": got}
        clip, first = self.films.address(item)
        pixels = self._pixels(clip)[first : first + self.films.window]
        crops = cut_crops(whole["frames"], pixels, self.size)
        return whole | {"crops": crops, "places": pixels.to(torch.float32) + 0.5}

    def _pixels(self, clip: int) -> Tensor:
        """Column and row (T, P, 2) int64 of the centres of all crops of a clip."""
        file, part = self.films.file, list(PARTS).index(self.films.part)
        source = np.random.SeedSequence(self.seed, spawn_key=(_CROPS, self.epoch, part, clip))
        chance = np.random.Generator(np.random.PCG64(source))
        return torch.from_numpy(chance.integers((file.width, file.height), size=(file.frames, self.crops, 2)))


def cut_crops(frames: Tensor, pixels: Tensor, size: int) -> Tensor:
    """Squares around pixels of each frame, 0 beyond the borders.

    Args:
        frames: (T, H, W, C) uint8, or a film (T, C, H, W) float.
        pixels: (T, P, 2) int64, column and row of each centre.
        size: side of a square, odd.

    Returns:
        (T, P, S, S, C), or of a film (T, P, C, S, S).
    """
    film = frames.is_floating_point()
    planes = frames.movedim(1, -1) if film else frames  # (T, H, W, C)
    padded = pad(planes, (0, 0, size // 2, size // 2, size // 2, size // 2))
    across = torch.arange(size, device=frames.device)
    columns, rows = pixels[..., 0, None] + across, pixels[..., 1, None] + across  # (T, P, S), from the padding's corner
    times = torch.arange(len(frames), device=frames.device)[:, None, None, None]
    crops = padded[times, rows[..., :, None], columns[..., None, :]]  # (T, P, S, S, C)
    return crops.movedim(-1, 2) if film else crops
