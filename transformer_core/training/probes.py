"""Direct tests of a model during training, to diagnose problems.

Each test changes an input that must, or must not, affect a healthy model, and measures the effect.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_core.corpora.batch_order import IGNORED, Batch
from transformer_core.corpora.batching import batches_for
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.evaluate import free_outputs
from transformer_core.training.objective import label_smoothed_cross_entropy

N_PROBED = 32  # items per part of a corpus: cheap, and their fractions are exact to a few hundredths
_CUTS = (0.0, 0.25, 0.5, 0.75)  # relative positions in a row from which answers are hidden
_SEED = 0  # for the mask and the replacements of hidden tokens, which are the same at every measurement


@torch.inference_mode()
def probe(model: Transformer, tokenizer: Tokenizer, training: Batch, held_out: Sequence[Any]) -> dict[str, float]:
    """Test a model.

    Args:
        model: its mode, training or evaluation, is restored.
        tokenizer: the model's own.
        training: a training batch.
        held_out: pairs or texts, at least one; the first `N_PROBED` are read.

    Returns:
        Shares in [0, 1] and losses in nats; a test that does not apply is left out.

        `training_loss`: of `training`, without smoothing and dropout.
        `seen_accuracy`, `hidden_accuracy`: targets of `training` that are the most probable token, in the original
        batch, and with the answer and all that follows replaced by other tokens (encoder: all answers by <mask>).
        Without leakage, the two are equal for a decoder.
        `source_gain`: increase of the held-out loss when each source is replaced by another pair's.
        `early_end`: mean probability of <eos> where a held-out text continues: before the first token of a target, in
        the middle of other texts.
        `cut_outputs`: outputs of held-out sources that never end.
        `unknown`: held-out targets that are <unk>. `same_target`, `empty_target`: held-out pairs with the most frequent
        target, and with an empty one.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    items = held_out[:N_PROBED]
    architecture, max_seq_len = model.config.architecture, model.config.max_seq_len
    batches = batches_for(items, tokenizer, architecture, max_seq_len=max_seq_len, batch_size=N_PROBED, seed=_SEED)
    batch = next(batches).to(device)
    readings = _answers(model, training.to(device), tokenizer.mask_id)
    counts = batch.targets != IGNORED
    if tokenizer.unk_id is not None:
        readings["unknown"] = _share(batch.targets[counts].eq(tokenizer.unk_id))
    if architecture != "encoder_only":
        readings |= _early_end(model, batch)
    if architecture == "encoder_decoder":
        readings |= _source_gain(model, batch)
        targets = Counter(tuple(tokenizer.encode(pair.target)) for pair in items)
        readings["same_target"] = max(targets.values()) / len(items)
        readings["empty_target"] = targets[()] / len(items)
        written = [tokens for _, tokens in free_outputs(model, tokenizer, items)]
        readings["cut_outputs"] = sum(tokenizer.eos_id not in tokens for tokens in written) / len(written)
    model.train(was_training)
    return readings


def _answers(model: Transformer, batch: Batch, mask_id: int | None) -> dict[str, float]:
    """Return the accuracy on the original batch, and with hidden answers."""
    targets, counts = batch.targets, batch.targets != IGNORED
    logits = model(*batch.inputs)
    right = (logits.argmax(dim=-1) == targets) & counts
    readings = {"training_loss": label_smoothed_cross_entropy(logits.float(), targets, smoothing=0.0).item()}
    if model.config.architecture == "encoder_only":
        if mask_id is None:
            return readings
        hidden = batch.inputs[0].masked_fill(counts, mask_id)
        right_hidden = model(hidden).argmax(dim=-1) == targets
        return readings | {"seen_accuracy": _share(right[counts]), "hidden_accuracy": _share(right_hidden[counts])}
    fed = batch.inputs[-1]
    order = torch.randperm(int(counts.sum()), generator=torch.Generator().manual_seed(_SEED)).to(fed.device)
    others = fed.clone()
    others[counts] = fed[counts][order]
    first, n_rows = counts.int().argmax(dim=-1), torch.arange(len(fed), device=fed.device)
    seen, unseen = [], []
    for cut in _CUTS:
        at = first + (cut * counts.sum(dim=-1)).long()  # [batch]
        is_hidden = torch.arange(fed.shape[1], device=fed.device) >= (at + _offset(fed, targets, counts))[:, None]
        logits = model(*batch.inputs[:-1], torch.where(is_hidden & counts, others, fed))
        unseen.append(logits[n_rows, at].argmax(dim=-1) == targets[n_rows, at])
        seen.append(right[n_rows, at])
    return readings | {"seen_accuracy": _share(torch.cat(seen)), "hidden_accuracy": _share(torch.cat(unseen))}


def _offset(fed: Int[Tensor, "batch pos"], targets: Int[Tensor, "batch pos"], counts: Bool[Tensor, "batch pos"]) -> int:
    """Return how many positions later a target is itself an input: 1 for correctly shifted targets."""
    both = counts[:, 1:] & counts[:, :-1]
    if not (fed[:, 1:] == targets[:, :-1])[both].all() and (fed == targets)[counts].all():
        return 0
    return 1


def _source_gain(model: Transformer, batch: Batch) -> dict[str, float]:
    """Return by how much the correct sources lower the loss; empty if all sources are equal."""
    source, *rest = batch.inputs
    others = source.roll(1, dims=0)
    is_other = (others != source).any(dim=-1)
    if not is_other.any():
        return {}

    def loss(of: Tensor) -> float:
        logits = model(of, *rest)[is_other]
        return label_smoothed_cross_entropy(logits.float(), batch.targets[is_other], smoothing=0.0).item()

    return {"source_gain": loss(others) - loss(source)}


def _early_end(model: Transformer, batch: Batch) -> dict[str, float]:
    """Return the mean probability of <eos> where a text continues, if any does."""
    counts = batch.targets != IGNORED
    is_pairs = model.config.architecture == "encoder_decoder"
    n = counts.sum(dim=-1)
    at = counts.int().argmax(dim=-1) + (torch.zeros_like(n) if is_pairs else n // 2)
    rows = torch.arange(len(at), device=at.device)
    goes_on = (batch.targets[rows, at] != model.config.eos_id) & (n > (0 if is_pairs else 1))
    if not goes_on.any():
        return {}
    probabilities: Float[Tensor, "batch vocab"] = model(*batch.inputs)[rows, at].float().softmax(dim=-1)
    return {"early_end": probabilities[goes_on, model.config.eos_id].mean().item()}


def _share(is_so: Bool[Tensor, " _"]) -> float:
    return float(is_so.float().mean())
