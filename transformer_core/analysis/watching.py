"""One text on its way through a model: as far as there was room for it, and watched."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.analysis.attentions import attentions_of
from transformer_core.config import Architecture
from transformer_core.instrument.capture import capture
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a person gave a model to read, as far as there was room."""

    ids: list[int]
    labels: tuple[str, ...]
    left_out: range

    @classmethod
    def of(cls, tokenizer: Tokenizer, text: str, architecture: Architecture, max_tokens: int) -> "Given":
        """Return the tokens of a text; of too many, the last are left out, but not the special ones behind them."""
        ids, labels = tokenizer.encode_for(text, architecture), tokenizer.labels_for(text, architecture)
        template = tokenizer.encode_for("", architecture)
        n_in_front = next((i for i, (a, b) in enumerate(zip(template, ids, strict=False)) if a != b), len(template))
        end = len(ids) - (len(template) - n_in_front)
        left_out = range(max(n_in_front, end - max(0, len(ids) - max_tokens)), end)
        del ids[left_out.start : left_out.stop], labels[left_out.start : left_out.stop]
        return cls(ids=ids, labels=tuple(labels), left_out=left_out)


class Watched:
    """One forward of a single text, with all that was seen in it."""

    def __init__(self, model: Transformer, *tokens: Tensor) -> None:
        """Run the model."""
        with capture(model, "*.hook_pattern", "*.hook_mask") as activations:
            logits = model(*tokens)
        self.all_log_probs = logits[0].float().log_softmax(dim=-1)  # [pos, vocab]
        likely = logits[0].clone()
        if model.config.pad_id is not None and model.config.pad_id != model.config.eos_id:
            likely[:, model.config.pad_id] = -torch.inf  # nothing to write
        self.best: list[int] = likely.argmax(dim=-1).tolist()
        self.patterns: dict[str, np.ndarray] = {}
        self.masks: dict[str, np.ndarray] = {}
        for name, attention in attentions_of(model.config).items():
            layers = range(attention.n_layers(model.config))
            self.patterns[name] = np.stack([_array(activations[attention.site(layer)][0]) for layer in layers])
            mask = activations[attention.site(0, "hook_mask")][0, 0].cpu().numpy()  # query or 1, key
            self.masks[name] = np.broadcast_to(mask, self.patterns[name].shape[2:]).copy()

    def log_probs(self, following: Sequence[int]) -> Float[np.ndarray, " pos"]:
        """Return the log-probability, in nats, of the token behind each position."""
        chosen = torch.tensor(following, device=self.all_log_probs.device)[:, None]
        return _array(self.all_log_probs.gather(-1, chosen)[:, 0])

    def predicted(self, tokenizer: Tokenizer, following: Sequence[int], labels: Sequence[str]) -> tuple[str, ...]:
        """Return the label of the most probable token behind each position; in its context where it is what follows."""
        return tuple(
            label if best == actual else tokenizer.labels([best])[0]
            for best, actual, label in zip(self.best, following, labels, strict=True)
        )


def tensor_of(ids: Sequence[int], model: Transformer) -> Tensor:
    """Return tokens [1, pos] where the model reads them."""
    return torch.tensor([ids], dtype=torch.long, device=next(model.parameters()).device)


def _array(tensor: Tensor) -> np.ndarray:
    """Return a float32 array, wherever and in whatever precision the tensor is."""
    return tensor.float().cpu().numpy()
