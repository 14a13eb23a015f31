"""What all tests share: one thread, because two spinning threads crawl when anything else runs."""

import signal

import torch

torch.set_num_threads(1)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells let what runs in the background ignore Ctrl-C, and processes hand that on; tests of Ctrl-C need it heard.
    signal.signal(signal.SIGINT, signal.default_int_handler)
