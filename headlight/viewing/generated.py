"""`read_generated`: the attention patterns in the output of `generate`, whose steps and beams become one sequence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from headlight.viewing.labels import Labels
from headlight.viewing.patterns import AttentionPatterns, Kind, PatternRecord, as_array
from headlight.viewing.reading import by_name
from transformer_core.errors import ArgumentError, Message

COMPUTED_BY = Message("Computed by generate of the transformers library, not by Headlight’s core.")


def read_generated(
    generated: Any, processor: Any = None, inputs: Mapping[str, Any] | None = None, *, sequence: int = 0
) -> PatternRecord:
    """Return the patterns of one generated sequence.

    With beam search each step has a row for each beam, and the beams change places: the row of the sequence in each
    step is that of `beam_indices`.

    >>> model.set_attn_implementation("eager")
    >>> generated = model.generate(**inputs, num_beams=4, return_dict_in_generate=True, output_attentions=True,
    ...                            output_scores=True)
    >>> record = read_generated(generated, tokenizer, inputs)

    Args:
        generated: what `generate` returns with return_dict_in_generate and output_attentions; with beams also with
            output_scores, without which it returns no beam_indices.
        processor: the tokenizer or processor, for the labels; None: labels are token ids.
        inputs: what `generate` read; needed for an encoder-decoder, whose output lacks it.
        sequence: number of the sequence among those returned.

    Returns:
        The record. Row i of decoder and cross-attention belongs to token i of the decoder's input, and determined the
        token after it.

    Raises:
        ArgumentError: the output has no patterns, or there is no such sequence.
    """
    inputs = {} if inputs is None else by_name(inputs)
    sequences, indices = getattr(generated, "sequences", None), getattr(generated, "beam_indices", None)
    is_pair = getattr(generated, "decoder_attentions", None) is not None
    steps = getattr(generated, "decoder_attentions" if is_pair else "attentions", None)
    if sequences is None or not steps or not steps[0]:
        raise ArgumentError(
            "this output of generate has no attention patterns; call model.set_attn_implementation(“eager”), and "
            "generate with return_dict_in_generate=True and output_attentions=True"
        )
    if not 0 <= sequence < len(sequences):
        raise ArgumentError("there is no sequence {i}; the last is {last}", i=sequence, last=len(sequences) - 1)
    has_beams = indices is None and steps[0][0].shape[0] != len(sequences)
    if has_beams:
        raise ArgumentError(
            "this output of generate has several beams but no beam_indices; generate with output_scores=True"
        )
    rows = [sequence] * len(steps) if indices is None else [row for row in indices[sequence].tolist() if row >= 0]
    n_steps = min(len(steps), len(rows))
    n_first = steps[0][0].shape[2]  # queries of the first step: of the prompt, or the start token
    n = n_first + sum(step[0].shape[2] for step in steps[1:n_steps])
    tokens = sequences[sequence, :n]
    per_text = steps[0][0].shape[0] // _n_texts(generated, inputs, steps)
    named = {"decoder_input_ids": tokens[None]} if is_pair else {"input_ids": tokens[None]}
    text = rows[0] // per_text
    given = {name: value[text : text + 1] for name, value in inputs.items() if isinstance(value, Tensor)}
    labels = Labels.of(_NO_CONFIG, given | named, processor)
    queries = list(labels.target if is_pair else labels.tokens)
    attentions = {"decoder": _record("decoder", join_steps(steps, rows[:n_steps], n), queries, queries)}
    encoder, cross = (getattr(generated, f"{name}_attentions", None) for name in ("encoder", "cross"))
    if encoder:
        patterns = np.stack([as_array(layer[text]) for layer in encoder])
        n_keys = patterns.shape[3]
        keys = labels.of_side("text", n_keys, is_target=False) or labels.of_side("audio", n_keys, is_target=False)
        keys = keys or [str(place) for place in range(n_keys)]
        attentions = {"encoder": _record("encoder", patterns, keys, keys)} | attentions
        if cross and cross[0]:
            attentions["cross"] = _record("cross", join_steps(cross, rows[:n_steps], n_keys, n), queries, keys)
    return PatternRecord(attentions=attentions, model="Output of generate", computed_by=COMPUTED_BY)


class _NoConfig:
    """Stands for the configuration of the model, which the output of `generate` lacks."""

    sub_configs: Mapping[str, Any] = {}


_NO_CONFIG = _NoConfig()


def _n_texts(generated: Any, inputs: Mapping[str, Any], steps: Sequence[Sequence[Tensor]]) -> int:
    """Return how many texts were read together."""
    encoder = getattr(generated, "encoder_attentions", None)
    given = next((value for value in inputs.values() if isinstance(value, Tensor)), None)
    if given is not None:
        return len(given)
    return (
        len(encoder[0]) if encoder else 1 if getattr(generated, "beam_indices", None) is not None else len(steps[0][0])
    )


def join_steps(steps: Sequence[Sequence[Tensor]], rows: Sequence[int], n_keys: int, n_queries: int = 0) -> np.ndarray:
    """Return the patterns of all steps as one; a layer with a window has fewer keys in later steps: the last ones.

    Args:
        steps: for each step, for each layer [row, head, query, key].
        rows: for each step, the row of the sequence.
        n_keys: of the whole sequence, or of the source.
        n_queries: for cross-attention; 0: as many as keys, which are the tokens so far in each step.
    """
    n_layers, n_heads = len(steps[0]), steps[0][0].shape[1]
    joined = np.zeros((n_layers, n_heads, n_queries or n_keys, n_keys), dtype=np.float32)
    first = 0
    for step, row in zip(steps, rows, strict=False):
        for layer, pattern in enumerate(step):
            values = as_array(pattern[row])  # [head, query, key]
            end = first + values.shape[1]
            until = n_keys if n_queries else end
            start = max(0, until - values.shape[2])
            joined[layer, :, first:end, start:until] = values[:, :, : until - start]
        first = end
    return joined


def _record(kind: Kind, patterns: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> AttentionPatterns:
    return AttentionPatterns(
        name=kind, kind=kind, patterns=patterns, queries=queries, keys=keys, layers=range(len(patterns))
    )
