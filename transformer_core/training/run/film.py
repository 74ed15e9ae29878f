"""The film of a training: snapshots of the weights, dense early and sparser later, within a size limit.

```
film/config.json, tokenizer.json   shared by all snapshots; card.json, with examples to try
film/000123/model.safetensors      the weights after step 123; `asked` beside them if the user requested this snapshot
film/heads.jsonl                   one line per snapshot: measurements of the heads
now/model.safetensors              recent weights, and snapshot.json with their step
```
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from transformer_core.checkpoints.checkpoint import CARD, CONFIG, TOKENIZER, WEIGHTS, read_checkpoint, write_weights
from transformer_core.checkpoints.folder import reading, replacing, settle, write_json
from transformer_core.errors import CheckpointError, Message, RunError
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason
from transformer_core.text.interface import Tokenizer
from transformer_core.training.run.records import RecordFile, read_object

_MOST_SNAPSHOTS = 100  # most snapshots that are planned
_ASKED, _SNAPSHOT = "asked", "snapshot.json"


class Film:
    """The snapshots of a run in its folder."""

    def __init__(self, run: Path) -> None:
        self.folder = run / "film"
        self.now = run / "now"
        self.heads = RecordFile(self.folder / "heads.jsonl")

    def begin(self, model: Transformer, tokenizer: Tokenizer, card: Mapping[str, Any]) -> None:
        """Write the shared files unless they exist.

        Raises:
            OSError: the folder cannot be written.
        """
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / TOKENIZER).exists():
            write_json(self.folder / CONFIG, model.config.to_dict())
            write_json(self.folder / CARD, dict(card))
            new = self.folder / f".{TOKENIZER}.new"
            tokenizer.save(new)
            new.replace(self.folder / TOKENIZER)  # the last file: if it exists, all do

    def snapshots(self) -> list[int]:
        """Return the steps with a snapshot, ascending."""
        return sorted(int(place.name) for place in self.folder.glob("[0-9]*") if (place / WEIGHTS).is_file())

    def n_bytes(self) -> int:
        """Return the size of all snapshots in bytes."""
        n_bytes = 0
        for path in self.folder.glob(f"[0-9]*/{WEIGHTS}"):
            with suppress(FileNotFoundError):  # deleted meanwhile
                n_bytes += path.stat().st_size
        return n_bytes

    def add(self, step: int, model: Transformer, *, is_asked: bool = False) -> None:
        """Add the snapshot after a step; a requested one is never deleted.

        Raises:
            OSError: the disk is full, or the folder cannot be written; the other snapshots are unchanged.
        """
        with replacing(self._place(step), is_durable=False) as new:
            write_weights(new / WEIGHTS, model)
            if is_asked:
                (new / _ASKED).touch()

    def thin(self, *, megabytes: int, steps: int) -> None:
        """Delete the snapshots closest to their neighbours until the film fits into its size limit.

        The first, the last and requested ones stay.
        """
        while len(snapshots := self.snapshots()) > 2 and self.n_bytes() > megabytes * 1e6:
            free = [i for i in range(1, len(snapshots) - 1) if not (self._place(snapshots[i]) / _ASKED).exists()]
            if not free:
                return
            spread = [_spread(step, steps) for step in snapshots]
            closest = min(free, key=lambda i: spread[i + 1] - spread[i - 1])
            shutil.rmtree(self._place(snapshots[closest]))

    def rewind(self, *, step: int) -> None:
        """Delete snapshots after a step, and incomplete ones; a resumed run takes them again."""
        for left_over in self.folder.glob(".*"):
            if left_over.is_file():
                left_over.unlink()
            else:  # a snapshot that was being replaced
                settle(self.folder / left_over.name[1:].partition(".")[0])
        settle(self.now)
        for snapshot in self.snapshots():
            if snapshot > step:
                shutil.rmtree(self._place(snapshot))
        self.heads.rewind(step=step)

    def look(self, step: int, model: Transformer) -> None:
        """Replace `now/` with the weights after a step.

        Raises:
            OSError: the disk is full, or the folder cannot be written.
        """
        with replacing(self.now, is_durable=False) as new:
            write_weights(new / WEIGHTS, model)
            write_json(new / _SNAPSHOT, {"step": step}, is_durable=False)

    def step_now(self) -> int | None:
        """Return the step of the weights in `now/`, or None."""
        values = reading(self.now, lambda place: read_object(place / _SNAPSHOT))
        return None if values is None else int(values["step"])

    def load(
        self, step: int, *, device: str | torch.device = "cpu", dtype: str | torch.dtype | None = None
    ) -> tuple[Transformer, Tokenizer]:
        """Return the model after a step, in evaluation mode, and its tokenizer.

        Raises:
            RunError: there is no such snapshot.
            CheckpointError: it is damaged.
            ConfigError: the device or precision does not exist.
        """
        weights = self._place(step) / WEIGHTS
        if not weights.is_file():
            raise RunError(
                "the film has no snapshot at step {step:,}; there are {steps}",
                step=step,
                steps=_listed(self.snapshots()),
            )
        return read_checkpoint(self.folder, device=device, dtype=dtype, weights=weights)

    def load_now(self) -> tuple[int, Transformer, Tokenizer]:
        """Return the step, the model and the tokenizer of `now/`.

        Raises:
            RunError: there is none yet.
            CheckpointError: it is damaged.
        """

        def read(place: Path) -> tuple[int, Transformer, Tokenizer]:
            values = read_object(place / _SNAPSHOT)
            if values is None:
                raise RunError(
                    "{folder} does not contain any weights yet; send the run the command `look` first", folder=self.now
                )
            loaded = read_checkpoint(self.folder, device="cpu", dtype=None, weights=place / WEIGHTS)
            return int(values["step"]), *loaded

        try:
            return reading(self.now, read)
        except OSError as error:
            raise CheckpointError("{path} cannot be read ({error})", path=self.now, error=reason(error)) from error

    def _place(self, step: int) -> Path:
        return self.folder / f"{step:06}"


def planned_snapshots(steps: int, *, snapshot_bytes: int, megabytes: int) -> frozenset[int]:
    """Return the steps of the snapshots of a film: at most a hundred, as many as fit into its size limit.

    Their spacing grows with the step: m(i) = s * ((1 + steps / s)^(i / n) - 1) with s = sqrt(steps), so with 2,000
    steps, half of the snapshots are before step 260. The first is the untrained model, the last the trained one.
    """
    n_most = min(_MOST_SNAPSHOTS, int(megabytes * 1e6) // max(1, snapshot_bytes))
    if n_most < 2:
        return frozenset()
    scale = math.sqrt(steps)
    whole = _spread(steps, steps)
    snapshots = (round(scale * math.expm1(whole * i / (n_most - 1))) for i in range(n_most))
    return frozenset(min(snapshot, steps) for snapshot in snapshots)


def _spread(step: int, steps: int) -> float:
    """Return the position of a step on the scale on which planned snapshots are evenly spaced."""
    return math.log1p(step / math.sqrt(steps))


def _listed(snapshots: Sequence[int]) -> Message:
    if not snapshots:
        return Message("none")
    if len(snapshots) <= 12:
        return Message(", ".join(map(str, snapshots)))
    return Message("{n} from {first:,} to {last:,}", n=len(snapshots), first=snapshots[0], last=snapshots[-1])
