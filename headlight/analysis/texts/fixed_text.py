"""A tokenized text that several models can read, with the output of one of them.

Several models, or snapshots of one model, would each write a different output. Teacher-forced on the same tokens, they
predict from the same prefix at each position, so their patterns can be compared row by row.
"""

from dataclasses import fields

from headlight.analysis.trace.model_run import run_text
from headlight.analysis.trace.traced_forward import NOT_FINITE, FixedText
from transformer_core.instrument.finite import not_finite_from
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer


def fix_text(
    model: Transformer,
    tokenizer: Tokenizer,
    text: Given,
    *,
    target: str | None = None,
    max_tokens: int = 64,
    max_new_tokens: int = 24,
) -> FixedText:
    """Return a text with a model's output, token for token as `analysis.run_text` reads both; arguments as there.

    Raises:
        TextError, ConfigError: as for `analysis.run_text`.
        NotFiniteError: the model cannot write an output, as its logits are NaN or infinite.
    """
    model_run = run_text(model, tokenizer, text, target=target, max_tokens=max_tokens, max_new_tokens=max_new_tokens)
    if NOT_FINITE in model_run.following[-1:]:
        raise not_finite_from(model_run.not_finite)
    return FixedText(**{field.name: getattr(model_run, field.name) for field in fields(FixedText)})
