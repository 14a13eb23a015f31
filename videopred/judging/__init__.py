"""Judge: films in, scores out, beside those of the trivial baselines on the same clips."""

from videopred.judging.baselines import BASELINES as BASELINES
from videopred.judging.evaluating import evaluate as evaluate
from videopred.judging.evaluating import judge as judge
from videopred.judging.predicting import Predict as Predict
from videopred.judging.predicting import imagine as imagine

__all__ = ["BASELINES", "Predict", "evaluate", "imagine", "judge"]  # which help() shows
