"""How each quantity of a walk is called, and what its rows and columns are."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer_core.errors import mark


@dataclass(frozen=True)
class Description:
    """What is the same of a quantity in all models."""

    symbol: str  # a word is English, marked
    title: str  # English, marked
    columns: str  # as in `Quantity`
    rows: str = "query"


DESCRIPTIONS: Mapping[str, Description] = {
    "x": Description("X", mark("What the attention reads"), "d_model"),
    "x_normalized": Description("X′", mark("The same, normalized"), "d_model"),
    "memory": Description("M", mark("The encoder's output"), "d_model", "key"),
    "q_projected": Description("Q₀", mark("Queries as projected"), "d_head"),
    "k_projected": Description("K₀", mark("Keys as projected"), "d_head", "key"),
    "q_normalized": Description("Q₁", mark("Queries, normalized"), "d_head"),
    "k_normalized": Description("K₁", mark("Keys, normalized"), "d_head", "key"),
    "q": Description("Q", mark("Queries"), "d_head"),
    "k": Description("K", mark("Keys"), "d_head", "key"),
    "v": Description("V", mark("Values"), "d_head", "key"),
    "product": Description("Q Kᵀ", mark("Dot products of queries and keys"), "key"),
    "scaled": Description("Q Kᵀ / √d_k", mark("Dot products, divided"), "key"),
    "bias": Description("B", mark("What the distance adds"), "key"),
    "biased": Description("Q Kᵀ / √d_k + B", mark("Scores with what the distance adds"), "key"),
    "mask": Description(mark("allowed"), mark("Mask: 1 where a query may look"), "key"),
    "attn_scores": Description("S", mark("Scores, −∞ where not allowed"), "key"),
    "pattern": Description("A", mark("Pattern: the attention weights"), "key"),
    "z": Description("Z", mark("What the head has found"), "d_head"),
    "concat": Description("Concat", mark("What all heads have found, side by side"), "head d_head"),
    "attn_out": Description("O", mark("What the attention adds"), "d_model"),
    "resid_mid": Description("R", mark("The sum"), "d_model"),
    "normalized": Description("R′", mark("The sum, normalized"), "d_model"),
    "cross_x": Description("Rc", mark("What cross-attention reads"), "d_model"),
    "cross_concat": Description("Concat_c", mark("What the heads of cross-attention have found"), "head d_head"),
    "cross_out": Description("C", mark("What cross-attention adds"), "d_model"),
    "resid_mid_cross": Description("R + C", mark("The sum with cross-attention"), "d_model"),
    "normalized_cross": Description("(R + C)′", mark("The sum with cross-attention, normalized"), "d_model"),
    "mlp_pre": Description("H₀", mark("Neurons before the activation"), "d_ff"),
    "mlp_linear": Description("H₁", mark("What the gate lets through or not"), "d_ff"),
    "mlp_post": Description("H", mark("Neurons"), "d_ff"),
    "mlp_out": Description("F", mark("What the feed-forward network adds"), "d_model"),
    "resid_post": Description("R₂", mark("The second sum"), "d_model"),
    "out": Description("Y", mark("What the layer hands on"), "d_model"),
}
