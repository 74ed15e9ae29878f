"""The terms that the Heads page uses, as the glossary names them."""

from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData

MEASURE_TERMS = {  # where each measure is defined
    "entropy": "attention-entropy",
    "distance": "attention-distance",
    "diagonality": "diagonality",
    "first": "first-token-attention",
    "special": "special-token-attention",
    "previous": "previous-token-score",
    "induction": "induction-score",
}
QUANTITY_TERMS = {"scores": "attention-score", "written": "norm-weighted-attention"}
ATTENTION_TERMS = {  # that are worth looking for, by architecture and attention
    ("encoder_decoder", "encoder"): ("self-attention", "previous-token-score"),
    ("encoder_decoder", "decoder"): ("self-attention", "causal-mask"),
    ("encoder_decoder", "cross"): ("cross-attention",),
    ("decoder_only", "decoder"): ("previous-token-score", "attention-sink", "induction-head", "causal-mask"),
    ("encoder_only", "encoder"): ("self-attention", "attention-sink"),
}


def terms_of(data: HeadsData) -> list[str]:
    """Return the names of the terms that the page uses in its current state, in the glossary."""
    chosen = [MEASURE_TERMS[name] for name in (view_fields.TINT.value,) if name]
    chosen += [QUANTITY_TERMS.get(data.spec.quantity, "attention-pattern")]
    chosen += ["attention-sink"] if "sinks" in view_fields.HIDDEN.value else []
    return [*dict.fromkeys([*chosen, *ATTENTION_TERMS[data.model_run.architecture, data.view.attention]])]
