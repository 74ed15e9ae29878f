"""The processes of a training: one, or several started by `torchrun`, which learn from each batch together."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.errors import ConfigError, RunError

Agreed = TypeVar("Agreed")

_PATIENCE = timedelta(hours=12)  # the others wait this long while the first one measures and saves


class OtherProcessError(RunError):
    """Another process of the same training ended, and this one with it."""


class Microbatch(NamedTuple):
    """A part of a batch that a process computes at once."""

    batch: Batch
    weight: float  # weight of its mean loss in the mean over the whole batch
    guidance_weight: float = 0.0  # the same for its mean guidance loss, with a guided head


@dataclass(frozen=True, kw_only=True)
class Processes:
    """This process among those of a training; only the first one writes files and prints."""

    rank: int = 0  # number of this process, from 0
    size: int = 1  # number of processes
    local_rank: int = 0  # number of this process on its machine

    @classmethod
    def from_environment(cls) -> Self:
        """Return the processes that `torchrun` started, or only this one."""
        numbers = (os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
        try:
            rank, size, local_rank = map(int, numbers)
        except ValueError:
            return cls()
        return cls(rank=rank, size=size, local_rank=local_rank)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def device(self, name: str) -> str:
        """Return the device of this process; with several GPUs, each process has its own.

        Raises:
            ConfigError: there are more processes than GPUs on this machine.
        """
        if self.size == 1 or name == "cpu":
            return name
        n_gpus = torch.cuda.device_count()
        if name not in ("cuda", "auto") or (not n_gpus and name == "auto"):
            return name
        if self.local_rank >= n_gpus:
            raise ConfigError(
                "there is no GPU for process {process} of this machine, which has {n_gpus}; start "
                "torchrun with --nproc-per-node {most}, or train with --device cpu",
                process=self.local_rank,
                n_gpus=n_gpus,
                most=max(1, n_gpus),
            )
        return f"cuda:{self.local_rank}"

    def join(self, device: torch.device) -> None:
        """Connect to the other processes, with NCCL between GPUs and Gloo between CPUs.

        Raises:
            OtherProcessError: one of them ended.
        """
        if self.size > 1 and not dist.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(device)
            backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
            # This module's functions take the current group as a default. If the wrapper imported it, they would keep
            # ours after `leave`, with its threads, which may abort a process at exit.
            import_module("torch.distributed.nn")
            with self.connected():
                dist.init_process_group(backend, timeout=_PATIENCE)
            self.total(torch.zeros(1))  # the first process, which connects the others, may end only after this

    def leave(self) -> None:
        """Disconnect from the other processes."""
        if self.size > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def wrap(self, model: nn.Module) -> nn.Module:
        """Return a model whose gradients are the means over all processes."""
        if self.size == 1:
            return model
        with self.connected():
            return DistributedDataParallel(model, forward_sync_buffers=False)

    def sending(self, model: nn.Module, *, now: bool) -> AbstractContextManager[None]:
        """Return a context in which gradients are sent to the other processes if `now`, or else accumulated."""
        return nullcontext() if now or not isinstance(model, DistributedDataParallel) else model.no_sync()

    def parts(self, batch: Batch, n_parts: int) -> Iterator[Microbatch]:
        """Yield this process's share of a batch, in `n_parts` parts of nearly equal size.

        The sum over all parts of weight times mean loss, *averaged over the processes*, is the mean loss over all
        targets of the batch, however it is divided.
        """
        if self.size * n_parts == 1:
            yield Microbatch(batch, 1.0, float(batch.antecedents is not None))
            return
        n_targets, n_pronouns = int((batch.targets != IGNORED).sum()), batch.n_pronouns
        pieces = np.array_split(np.arange(len(batch.targets)), self.size * n_parts)
        for rows in pieces[self.rank :: self.size]:
            taken = torch.from_numpy(rows if len(rows) else np.zeros(1, np.int64))
            part = batch.rows(taken)
            n_own, n_own_pronouns = (int((part.targets != IGNORED).sum()), part.n_pronouns) if len(rows) else (0, 0)
            yield Microbatch(part, self.size * n_own / n_targets, self.size * n_own_pronouns / max(1, n_pronouns))

    def total(self, value: Tensor) -> Tensor:
        """Return the mean of a tensor over all processes."""
        if self.size > 1:
            with self.connected():
                dist.all_reduce(value, dist.ReduceOp.SUM)
            value = value / self.size
        return value

    def agree(self, value: Agreed) -> Agreed:
        """Return the first process's value in every process."""
        if self.size == 1:
            return value
        values: list[Any] = [value]
        with self.connected():
            dist.broadcast_object_list(values, src=0, device=torch.device("cpu"))
        agreed: Agreed = values[0]
        return agreed

    def first_alone(self, act: Callable[[], Agreed]) -> Agreed:
        """Call a function in the first process while the others wait; return its value in every process.

        Raises:
            OtherProcessError: in the others, if it failed.
        """
        return self.agree(self.first_first(act if self.is_first else lambda: cast(Agreed, None)))

    def first_first(self, prepare: Callable[[], Agreed]) -> Agreed:
        """Return `prepare()`, called by the first process before the others, which then use its cache.

        Raises:
            OtherProcessError: in the others, if it failed in the first.
        """
        if not self.is_first:
            if not self.agree(True):  # False if it failed in the first process
                raise OtherProcessError("the first process of this training failed; see its error message")
            return prepare()
        try:
            prepared = prepare()
        except BaseException:
            self.agree(False)
            raise
        self.agree(True)
        return prepared

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Raise OtherProcessError if the connection to another process is lost."""
        try:
            yield
        except RuntimeError as error:
            if self.size == 1 or not (isinstance(error, dist.DistError) or "gloo" in str(error)):
                raise
            raise OtherProcessError(
                "one of the {n} processes of this training ended or was killed, so all were stopped; "
                "continue with --resume",
                n=self.size,
            ) from error

    def step_seed(self, seed: int, step: int) -> int:
        """Return the seed of a step's dropout in this process; seeds of different processes are unrelated."""
        mixed = (seed, step) if self.is_first else (seed, step, self.rank)
        return int(np.random.SeedSequence(mixed).generate_state(1)[0])


ALONE = Processes()
