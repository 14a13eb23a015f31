"""What the files of scores are called. Light: commands look whether they are there before torch is loaded."""

SCORE_FILES = ("scores.json", "scores.csv", "measurements.npz")
"""What `Scores.save` writes in its folder."""
PLAUSIBILITY_FILES = ("plausibility.json", "plausibility.csv", "films.csv", "surprise.npz")
"""What `PlausibilityScores.save` writes in its folder; the last only of a run."""
