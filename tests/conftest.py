"""What all tests share: one thread, because two spinning threads crawl when anything else runs; and no clocks."""

import signal

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("without-clocks", deadline=None)
settings.load_profile("without-clocks")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells let what runs in the background ignore Ctrl-C, and processes hand that on; tests of Ctrl-C need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)
