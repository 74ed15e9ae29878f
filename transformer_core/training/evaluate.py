"""How good a model is on held-out pairs: left to speak freely, and by its loss."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_core.corpora.batching import EncodedPairs
from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.objective import label_smoothed_cross_entropy

_BATCH_SIZE = 128  # pairs decoded at the same time


@torch.inference_mode()
def evaluate(model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Pair]) -> dict[str, float]:
    """Measure the model on pairs: each source is translated greedily, the reference only judges the result.

    Args:
        model: left as it was, in training or in evaluation.
        tokenizer: the model's own.
        corpus: gives the measures.
        pairs: what to measure on, at least one.

    Returns:
        `loss`, nats per target token, not smoothed, with the reference's tokens before each (teacher forcing); and each
        measure of the corpus as a fraction in [0, 1] of the pairs that it applies to; left out where there are none.

    Raises:
        CorpusError: no pairs, or one that is longer than the model takes.
    """
    encoded = EncodedPairs(pairs, tokenizer, max_seq_len=model.config.max_seq_len)
    was_training = model.training
    model.eval()
    verdicts: dict[str, list[bool]] = {name: [] for name in corpus.measures}
    total_loss, n_tokens = 0.0, 0
    by_length = np.lexsort((encoded.target.lengths, encoded.source.lengths))
    for start in range(0, len(by_length), _BATCH_SIZE):
        rows = by_length[start : start + _BATCH_SIZE]
        batch = encoded.batch(rows)
        loss = label_smoothed_cross_entropy(
            model(batch.src, batch.tgt_in), batch.tgt_out, smoothing=0.0, pad_id=model.config.pad_id
        )
        n_batch_tokens = int((encoded.target.lengths[rows] - 1).sum())
        total_loss += loss.item() * n_batch_tokens
        n_tokens += n_batch_tokens
        for row, output in zip(rows, _translate(model, tokenizer, batch.src), strict=True):
            for name, measure in corpus.measures.items():
                verdict = measure(pairs[row], output)
                if verdict is not None:
                    verdicts[name].append(verdict)
    model.train(was_training)
    return {"loss": total_loss / n_tokens} | {name: sum(v) / len(v) for name, v in verdicts.items() if v}


def _translate(model: Transformer, tokenizer: Tokenizer, src: Int[Tensor, "batch src"]) -> list[str]:
    """Return what the model makes of each source; an output twice as long as the longest source is cut off."""
    room = min(2 * src.shape[1] + 8, model.config.max_seq_len - 1)
    return [tokenizer.decode(row) for row in greedy_decode(model, src, max_new_tokens=room).tokens.tolist()]
