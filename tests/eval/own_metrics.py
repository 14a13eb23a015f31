"""A module of a user's own metrics: sound ones, and each of those that are refused."""

SOURCE = """
from dataclasses import dataclass
from typing import Literal

from videopred.eval import pixel
from videopred.eval.frame_metric import FrameMetric
from videopred.eval.metric import Metric, check_films
from videopred.settings import Settings


class PowerConfig(Settings):
    power: float = 1.0
    even: bool = False
    called: str = "power"
    known: str | None = None
    sure: bool | None = None
    side: Literal["x", "1"] = "x"


class Power(Metric):
    settings = PowerConfig
    label, decimals, range, higher_is_better = "power", 3, (0.0, 1.0), False

    @property
    def convention(self):
        return f"to the power of {self.config.power}"

    def measure(self, prediction, truth):
        return {"power": (prediction - truth).abs().pow(self.config.power).mean((2, 3, 4))}


class Beyond(Power):
    def measure(self, prediction, truth):
        return {"beyond": 2.5 + (prediction - truth).abs().mean((2, 3, 4))}


class Below(Power):
    def measure(self, prediction, truth):
        return {"below": -0.5 - (prediction - truth).abs().mean((2, 3, 4))}


class Bias(Power):
    range = (float("-inf"), float("inf"))

    def measure(self, prediction, truth):
        return {"bias": (prediction - truth).mean((2, 3, 4))}


class Rounded(Power):
    range = (0.0, float("inf"))

    def measure(self, prediction, truth):
        return {"rounded": 0 * prediction.sum((2, 3, 4)) - 2e-5}


class Varied(Power):
    def measure(self, prediction, truth):
        name = "few" if len(truth) < 3 else "many"
        return {name: (prediction - truth).abs().mean((2, 3, 4))}


class Plain(Power):
    settings = Settings


class Wide(Power):
    def measure(self, prediction, truth):
        return {"wide": (prediction - truth).mean((3, 4))}


class Two(Power):
    def measure(self, prediction, truth):
        return super().measure(prediction, truth) | {"more": (prediction - truth).mean((2, 3, 4))}


class Array(Power):
    def measure(self, prediction, truth):
        return {"array": super().measure(prediction, truth)["power"].numpy()}


class Bare(Power):
    def measure(self, prediction, truth):
        return super().measure(prediction, truth)["power"]


class Empty(Power):
    def measure(self, prediction, truth):
        return {}


class Endless(Power):
    def measure(self, prediction, truth):
        measured = super().measure(prediction, truth)["power"]
        measured[-1, 2] = -float("inf")
        return {"endless": measured}


class Parted(Power):
    def measure(self, prediction, truth):
        return {"hits/all": super().measure(prediction, truth)["power"]}


class Pooled(Power):
    def reduce(self, measured, clip_weights=None):
        return super().reduce(measured, clip_weights).mean()


class Dividing(Power):
    def reduce(self, measured, clip_weights=None):
        return super().reduce(measured, clip_weights) / 0


class Spread(Power):
    def reduce(self, measured, clip_weights=None):
        pooled = super().reduce(measured, clip_weights)
        return pooled / (len(measured["power"]) - 1)


class Number(Pooled):
    def reduce(self, measured, clip_weights=None):
        return super().reduce(measured, clip_weights).item()


class Unpacking(Power):
    def measure(self, prediction, truth):
        clips, frames = truth.shape
        return super().measure(prediction, truth)


class Opening(Power):
    def measure(self, prediction, truth):
        open("nowhere.npy")


class Asking(Power):
    def measure(self, prediction, truth):
        import statistics
        return statistics.mean([])


class Unweighted(Power):
    def reduce(self, measured):
        return measured["power"].mean(0)


class Unfit(Power):
    def measure(self, prediction, truth):
        return {"unfit": prediction @ truth}


class Framed(pixel.MAE):
    def measure_frames(self, frames):
        return {"framed": float(frames.prediction)}


class Writing(pixel.MAE):
    label = "writing"

    def measure_frames(self, frames):
        measured = super().measure_frames(frames)
        frames.prediction.zero_()
        frames.truth.zero_()
        return measured


@dataclass
class Unhashable(Power):
    config: object


class Built(Power):
    def __init__(self, config):
        super().__init__(config)
        config.strength


class Silent(Power):
    @property
    def convention(self):
        return self.unsaid


class Mute(Power):
    @property
    def convention(self):
        pass


class Remarking(Power):
    def remark(self, measured):
        return f"at most {measured['strength'].max()}"


class Complaining(Power):
    def measure(self, prediction, truth):
        check_films(3 * prediction, truth)


class Poor(Metric):
    label, range = "poor", (0.0, 1.0)


class Wrong(Power):
    settings = dict


class NoMetric:
    pass
"""
