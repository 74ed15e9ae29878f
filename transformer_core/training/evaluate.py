"""Metrics of a model on held-out data: its loss, its predictions, and its free-running output."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_core.corpora.batch_order import IGNORED, Batches
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Corpus, Pair, Text
from transformer_core.decoding.greedy import greedy_decode, until_end
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.guidance import antecedent_shares, has_antecedents
from transformer_core.training.objective import label_smoothed_cross_entropy

_BATCH_SIZE = 128  # pairs, or pieces of texts
_SEED = 0  # for the mask, which is the same at every measurement


@torch.inference_mode()
def evaluate(
    model: Transformer,
    tokenizer: Tokenizer,
    corpus: Corpus,
    items: Sequence[Pair] | Sequence[Text],
    *,
    guided: tuple[int, int] | None = None,
) -> dict[str, float]:
    """Measure a model on held-out pairs or texts.

    Args:
        model: its mode, training or evaluation, is restored.
        tokenizer: the model's own.
        corpus: defines the measures.
        items: at least one.
        guided: layer and head of the encoder that was guided towards antecedents, if any.

    Returns:
        `loss` in nats per target that counts, without smoothing, by teacher forcing; the others are fractions in
        [0, 1], without those that do not apply. `accuracy`: targets that are the most probable token. Pairs:
        `exact_match`, sources whose greedy output has the tokens of the target; each measure of the corpus; and
        `antecedent`, annotated pronouns whose antecedent gets the largest weight of the guided head, or else of the
        best head. Texts and a decoder: each measure of the corpus, for the continuation of a prompt; and
        `determined_accuracy`, units determined by others that are the most probable token.

    Raises:
        CorpusError: there are no items, or one is too long for the model.
    """
    was_training = model.training
    model.eval()
    batches = batches_for(
        items,
        tokenizer,
        model.config.architecture,
        max_seq_len=model.config.max_seq_len,
        batch_size=_BATCH_SIZE,
        seed=_SEED,
        with_antecedents=has_antecedents(items),
    )
    metrics = _guesses(model, batches)
    if corpus.is_pairs:
        metrics |= _translations(model, tokenizer, corpus, items)
        shares = antecedent_shares(model, batches)
        if shares is not None:
            metrics["antecedent"] = float(shares.max() if guided is None else shares[guided])
    elif model.config.architecture == "decoder_only":
        metrics |= _determined(model, tokenizer, items) | _continuations(model, tokenizer, corpus, items)
    model.train(was_training)
    return metrics


def _guesses(model: Transformer, batches: Batches) -> dict[str, float]:
    """Return loss and accuracy over one epoch."""
    device, total_loss, n_right, n_targets = next(model.parameters()).device, 0.0, 0, 0
    for _ in range(batches.batches_per_epoch):
        batch = next(batches).to(device)
        logits = model(*batch.inputs)
        counts = batch.targets != IGNORED
        n = int(counts.sum())
        total_loss += label_smoothed_cross_entropy(logits.float(), batch.targets, smoothing=0.0).item() * n
        n_right += int((logits.argmax(dim=-1) == batch.targets)[counts].sum())
        n_targets += n
    return {"loss": total_loss / n_targets, "accuracy": n_right / n_targets}


def _translations(model: Transformer, tokenizer: Tokenizer, corpus: Corpus, pairs: Sequence[Any]) -> dict[str, float]:
    """Return the measures of the model's output for each source.

    Exact match compares tokens, since a word tokenizer decodes different targets to one text. The measures judge texts,
    and are given the target as the tokenizer decodes it.
    """
    verdicts: dict[str, list[bool]] = {name: [] for name in ("exact_match", *corpus.measures)}
    for row, written in free_outputs(model, tokenizer, pairs, beyond_sources=False):
        target = tokenizer.target.encode(pairs[row].target, eos=True)[: model.config.max_seq_len - 1]
        verdicts["exact_match"].append(written == target)
        as_written = replace(pairs[row], target=tokenizer.target.decode(target))
        _judge(verdicts, corpus.measures, as_written, tokenizer.target.decode(written))
    return _fractions(verdicts)


@torch.inference_mode()
def free_outputs(
    model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair], *, beyond_sources: bool = True
) -> Iterator[tuple[int, list[int]]]:
    """Yield the greedy output for each source, sorted by length.

    An output that is longer than the longest target of its batch is cut off, since it is wrong anyway.

    Args:
        model: an encoder-decoder, in evaluation mode.
        tokenizer: the model's own.
        pairs: the targets only limit the length.
        beyond_sources: allows twice the length of the longest source of the batch, to see whether the output ends.

    Yields:
        The index of the pair, and the output tokens, including <eos>.
    """
    sources = {row: tokenizer.encode(pair.source, eos=True) for row, pair in enumerate(pairs)}
    for rows, src in by_length(sources, model):
        longest = max(len(tokenizer.target.encode(pairs[row].target, eos=True)) for row in rows)
        wanted = max(longest + 1, 2 * src.shape[1] + 8) if beyond_sources else longest + 1
        room = min(wanted, model.config.max_seq_len - 1)
        for row, output in zip(rows, greedy_decode(model, src, max_new_tokens=room).tokens.tolist(), strict=True):
            yield row, until_end(output[1:], model.config)  # after <bos>


def _continuations(model: Transformer, tokenizer: Tokenizer, corpus: Corpus, texts: Sequence[Any]) -> dict[str, float]:
    """Return the measures of the continuation of each text's prompt."""
    verdicts: dict[str, list[bool]] = {name: [] for name in corpus.text_measures}
    if not verdicts:
        return {}
    prompts = {row: tokenizer.encode(corpus.prompt_of(text), bos=True) for row, text in enumerate(texts)}
    fitting = {row: prompt for row, prompt in prompts.items() if len(prompt) < model.config.max_seq_len}
    for rows, tokens in by_length(fitting, model):
        for row, output in zip(rows, greedy_decode(model, tokens).tokens.tolist(), strict=True):
            _judge(verdicts, corpus.text_measures, texts[row], tokenizer.continuation(output, len(prompts[row])))
    return _fractions(verdicts)


def _determined(model: Transformer, tokenizer: Tokenizer, texts: Sequence[Any]) -> dict[str, float]:
    """Return the accuracy on units that are determined by others."""
    known = [text for text in texts if text.determined]
    room = model.config.max_seq_len
    encoded = {row: tokenizer.encode(text.text, bos=True)[:room] for row, text in enumerate(known)}
    n_right, n_in_all = 0, 0
    for rows, tokens in by_length(encoded, model):
        for row, guess in zip(rows, model(tokens).argmax(dim=-1).tolist(), strict=True):
            determined = [unit for unit in known[row].determined if unit + 1 < len(encoded[row])]
            n_right += sum(guess[unit] == encoded[row][unit + 1] for unit in determined)  # <bos> shifts them by one
            n_in_all += len(determined)
    return {"determined_accuracy": n_right / n_in_all} if n_in_all else {}


def _judge(verdicts: dict[str, list[bool]], measures: Mapping[str, Any], item: Pair | Text, output: str) -> None:
    """Add each measure's verdict on an output."""
    for name, measure in measures.items():
        verdict = measure(item, output)
        if verdict is not None:
            verdicts[name].append(verdict)


def _fractions(verdicts: dict[str, list[bool]]) -> dict[str, float]:
    return {name: sum(v) / len(v) for name, v in verdicts.items() if v}


def by_length(
    sequences: Mapping[int, Sequence[int]], model: Transformer
) -> Iterator[tuple[list[int], Int[Tensor, "batch pos"]]]:
    """Yield batches of row numbers of similar length, each with its token matrix on the model's device.

    Args:
        sequences: tokens, by row number.
        model: whose <pad> fills the rows on the right.
    """
    device, filler = next(model.parameters()).device, model.config.pad_id or 0
    rows = sorted(sequences, key=lambda row: len(sequences[row]))
    for first in range(0, len(rows), _BATCH_SIZE):
        batch = rows[first : first + _BATCH_SIZE]
        longest = len(sequences[batch[-1]])
        padded = [[*sequences[row], *[filler] * (longest - len(sequences[row]))] for row in batch]
        yield batch, torch.tensor(padded, device=device)
