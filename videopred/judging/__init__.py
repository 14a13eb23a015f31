"""Judge: films in, scores out, beside those of the trivial baselines on the same clips."""

from videopred.judging.evaluating import evaluate as evaluate
from videopred.judging.evaluating import judge as judge
from videopred.judging.forecasts import Predict as Predict
from videopred.judging.forecasts import imagine as imagine
from videopred.judging.rows import ROWS as ROWS
