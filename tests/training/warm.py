"""Imported once, by the parent of forked processes: it does what a ready process does before it waits."""

import torch

from headlight.cli.launch import import_all

torch.set_num_threads(1)  # before the first sum: threads do not survive a fork
import_all()
