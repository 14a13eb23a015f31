"""What all tests share: one thread, because two spinning threads crawl when anything else runs."""

import torch

torch.set_num_threads(1)
