"""The page: what there is to see and to know of runs, as one HTML file that needs nothing else."""
