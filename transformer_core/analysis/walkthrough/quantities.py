"""How each quantity of a walk is called, and what its rows and columns are."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from transformer_core.analysis.walkthrough.records import Description
from transformer_core.errors import mark

DESCRIPTIONS: Mapping[str, Description] = {
    "x": Description("X", mark("Attention input"), "d_model"),
    "x_normalized": Description("X′", mark("Attention input, normalized"), "d_model"),
    "memory": Description("M", mark("Encoder output"), "d_model", "key"),
    "q_projected": Description("Q₀", mark("Projected queries"), "d_head"),
    "k_projected": Description("K₀", mark("Projected keys"), "d_head", "key"),
    "q_normalized": Description("Q₁", mark("Queries, normalized"), "d_head"),
    "k_normalized": Description("K₁", mark("Keys, normalized"), "d_head", "key"),
    "q": Description("Q", mark("Queries"), "d_head"),
    "k": Description("K", mark("Keys"), "d_head", "key"),
    "v": Description("V", mark("Values"), "d_head", "key"),
    "product": Description("Q Kᵀ", mark("Dot products of queries and keys"), "key"),
    "scaled": Description("Q Kᵀ / √d_k", mark("Scaled dot products"), "key"),
    "bias": Description("B", mark("Position bias"), "key"),
    "biased": Description("Q Kᵀ / √d_k + B", mark("Scores with position bias"), "key"),
    "mask": Description(mark("allowed"), mark("Mask: 1 = may attend"), "key"),
    "attn_scores": Description("S", mark("Masked scores (−∞ where masked)"), "key"),
    "pattern": Description("A", mark("Attention pattern (weights)"), "key"),
    "z": Description("Z", mark("Head output z"), "d_head"),
    "concat": Description("Concat", mark("All heads’ z, concatenated"), "head d_head"),
    "attn_out": Description("O", mark("Attention output"), "d_model"),
    "resid_mid": Description("R", mark("Residual sum"), "d_model"),
    "normalized": Description("R′", mark("Residual sum, normalized"), "d_model"),
    "cross_x": Description("Rc", mark("Cross-attention input"), "d_model"),
    "cross_concat": Description("Concat_c", mark("Cross-attention heads’ z, concatenated"), "head d_head"),
    "cross_out": Description("C", mark("Cross-attention output"), "d_model"),
    "resid_mid_cross": Description("R + C", mark("Residual sum after cross-attention"), "d_model"),
    "normalized_cross": Description("(R + C)′", mark("Residual sum after cross-attention, normalized"), "d_model"),
    "mlp_pre": Description("H₀", mark("Hidden units before the activation"), "d_ff"),
    "mlp_linear": Description("H₁", mark("Up-projection before gating"), "d_ff"),
    "mlp_post": Description("H", mark("Hidden units"), "d_ff"),
    "mlp_out": Description("F", mark("Feed-forward output"), "d_model"),
    "resid_post": Description("R₂", mark("Second residual sum"), "d_model"),
    "out": Description("Y", mark("Layer output"), "d_model"),
}

PAIRS: Mapping[str, Description] = {  # of one query and one key each; computed where one looks
    "elementwise": Description("q ⊙ k", "", "d_head", "query key"),
    "weighted": Description("A v", "", "d_head", "query key"),
}


def pair_factors(
    values: Mapping[str, Float[np.ndarray, "_ _"]], name: str, query: int
) -> tuple[Float[np.ndarray, "key d_head"], Float[np.ndarray, "key d_head"]]:
    """Return what is multiplied in a row of `PAIRS`: a query with each key, or the weight of each key with its value.

    Args:
        values: of the walk, by quantity.
        name: "elementwise" or "weighted".
        query: whose row.
    """
    if name == "elementwise":
        return np.broadcast_to(values["q"][query], values["k"].shape), values["k"]
    return np.broadcast_to(values["pattern"][query][:, None], values["v"].shape), values["v"]
