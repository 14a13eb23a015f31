"""Learn: a predictor from a file of clips, on Lightning's Trainer.

Our part is the objective, the order of the clips and what is kept; devices, precision, loops and logs are Lightning's.
Batch k of a run depends on (seed, k) alone; noise, on the seed, the update and the share of its batch.
"""
