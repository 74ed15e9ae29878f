"""A text in tokens that every model is to read alike, with what one of them says to it.

Several models, or one at several snapshots, would each write something else. Teacher-forced on the same tokens, they
predict from the same prefix at each position, so their patterns can be compared row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import EncodedInput, TracedForward
from transformer_core.config import Architecture
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.inputs import tensor_of
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer


@dataclass(frozen=True, kw_only=True)
class FixedText:
    """A text in tokens, and the output that is teacher-forced at all snapshots."""

    architecture: Architecture
    inputs: tuple[tuple[int, ...], ...]  # as `final_states` takes them
    source: tuple[str, ...]  # labels of the encoder's tokens; () without encoder
    target: tuple[str, ...]  # labels of the decoder's input; () without decoder
    border: int | None = None  # in `source`, the first token of the second text; None where there is one text
    n_given: int  # tokens at the beginning of `target` that were typed; the others, one snapshot wrote
    output: str  # teacher-forced at all snapshots; encoder-only: the text with its blanks filled in
    judged: tuple[int, ...]  # positions of the output at which a token of it is expected
    expected: tuple[int, ...]  # the token at each of them
    left_out: range  # places of the tokens of the text that were not read, for lack of room
    target_left_out: range  # the same of a typed target

    def labels(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and of the keys of an attention."""
        kind = ATTENTIONS[attention]
        return getattr(self, kind.queries_from), getattr(self, kind.keys_from)


def fix_text(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> FixedText:
    """Return a text with what a model says to it, token for token as `analysis.run_text` reads both.

    Args:
        model: of the snapshot whose output is taken.
        tokenizer: the model's.
        text: the source, the prompt, or a text with blanks.
        target: for an encoder-decoder, what is teacher-forced at all snapshots; None: what this model writes.
        max_tokens: as for `analysis.run_text`.
        max_new_tokens: as for `analysis.run_text`.

    Raises:
        TextError, ConfigError: as `analysis.run_text`.
    """
    model_run = run_text(model, tokenizer, text, target=target, max_tokens=max_tokens, max_new_tokens=max_new_tokens)
    room = min(max_tokens, model.config.max_seq_len)
    given = EncodedInput.of(tokenizer, text, model_run.architecture, room)
    ids = given.ids
    inputs: list[Sequence[int]] = [*given.inputs]
    judged, expected = [blank.position for blank in model_run.blanks], []
    if model_run.architecture == "encoder_only" and judged:
        expected = watch(model, inputs).log_probs_at(judged).argmax(dim=-1).tolist()
    elif model_run.architecture == "encoder_decoder":
        if target is None:
            whole = _continued(model, ids, n_new=len(model_run.target))
        else:
            typed = EncodedInput.of(tokenizer.target, target, model_run.architecture, room).ids
            assert model.config.bos_id is not None, "an encoder-decoder has it"
            whole = [model.config.bos_id, *typed]
        inputs, judged, expected = [ids, whole[:-1]], [*range(len(whole) - 1)], whole[1:]
    elif model_run.architecture == "decoder_only":
        n_new = len(model_run.target) - model_run.n_given + model_run.is_complete
        prompt = ids[: model_run.n_given]
        # Where only the text was read, what would come next is requested.
        whole = _continued(model, prompt, n_new=n_new) if n_new else [*prompt, watch(model, [prompt]).best[-1]]
        inputs, judged = [whole[: len(model_run.target)]], [*range(model_run.n_given - 1, len(whole) - 1)]
        expected = whole[model_run.n_given :]
    return FixedText(
        architecture=model_run.architecture,
        inputs=tuple(map(tuple, inputs)),
        border=model_run.border,
        source=model_run.source,
        target=model_run.target,
        n_given=model_run.n_given,
        output=model_run.output,
        judged=tuple(judged),
        expected=tuple(expected),
        left_out=model_run.left_out,
        target_left_out=model_run.target_left_out,
    )


@torch.inference_mode()
def watch(model: Transformer, inputs: Sequence[Sequence[int]]) -> TracedForward:
    """Run a model once over the inputs of a fixed text, watched."""
    return TracedForward(model, *(tensor_of(tokens, model) for tokens in inputs))


def _continued(model: Transformer, ids: Sequence[int], *, n_new: int) -> list[int]:
    """Return the output of a model after <bos> or the prompt."""
    tokens: list[int] = greedy_decode(model, tensor_of(ids, model), max_new_tokens=n_new).tokens[0].tolist()
    return tokens
