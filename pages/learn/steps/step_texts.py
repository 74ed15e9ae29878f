"""The marked English texts of Attention step by step: its stages, quantities, places and numbers.

Titles are keyed by the names of the stages, sentences by their `notice`, the others by names in `walkthrough.outline`.
"""

from collections.abc import Mapping

from transformer_core.errors import mark

TITLES: Mapping[str, str] = {
    "input": mark("Input"),
    "norm": mark("Normalize"),
    "projection": mark("Queries, keys and values"),
    "qk_norm": mark("Normalize queries and keys"),
    "rotation": mark("Apply RoPE"),
    "product": mark("Dot products"),
    "scale": mark("Divide by √d_k"),
    "bias": mark("Add position bias"),
    "cap": mark("Soft cap"),
    "mask": mark("Mask"),
    "softmax": mark("Softmax"),
    "dropout": mark("Dropout"),
    "weigh": mark("Weight the values"),
    "z": mark("Weighted sum"),
    "concat": mark("Concatenate heads"),
    "output": mark("Output projection W_O"),
    "output_norm": mark("Normalize the output"),
    "dropout_output": mark("Dropout on the output"),
    "add_norm": mark("Add & norm"),
    "add": mark("Add"),
    "cross": mark("Cross-attention"),
    "norm_2": mark("Normalize again"),
    "feed_forward": mark("Feed-forward"),
    "feed_forward_norm": mark("Normalize the output"),
    "dropout_feed_forward": mark("Dropout on the feed-forward output"),
    "add_norm_2": mark("Second add & norm"),
    "add_2": mark("Add again"),
}

_DROPOUT = mark(
    "Only in training: each number becomes 0 with probability p, and the others grow by 1 / (1 − p). At inference "
    "dropout is the identity, so the next steps use the numbers before it."
)
NOTICES: Mapping[str, str] = {
    **dict.fromkeys(("dropout", "dropout_output", "dropout_feed_forward"), _DROPOUT),
    "input": mark("Each token is a vector, one row here. The head sees only these vectors, never the tokens."),
    "input of later layers": mark(
        "These rows are outputs of the layers below: each already contains information from other tokens."
    ),
    "input of cross-attention": mark("Queries come from the decoder, keys and values from the encoder output."),
    "norm": mark("Each row is rescaled to about the same norm, so that no token dominates the others."),
    "projection": mark(
        "Three projections of the same row: query (what it looks for), key (what it offers), value (what it passes on)."
    ),
    "projection of cross-attention": mark(
        "Queries come from the decoder; keys and values come from the encoder's output."
    ),
    "projection for groups": mark(
        "Several heads share these keys and values (grouped-query attention); only the queries belong to this head "
        "alone."
    ),
    "qk_norm": mark("Queries and keys are normalized, so that only their directions matter, not their norms."),
    "rotation": mark(
        "Each pair of dimensions is rotated by an angle proportional to the position; norms stay the same."
    ),
    "product": mark("A dot product is large when query and key are large in the same dimensions, with the same sign."),
    "scale": mark(
        "All scores are divided by the same factor, like a temperature: their order stays the same, and the softmax "
        "becomes less peaked."
    ),
    "bias": mark("This bias depends only on the distance between query and key, not on their content."),
    "cap": mark("Scores are bounded by ±c: small ones hardly change, and large ones approach c."),
    "mask": mark(
        "Scores of keys after the query become −∞ (causal mask): the model must not see what it has to predict."
    ),
    "mask of a window": mark("Scores of keys outside the sliding window become −∞."),
    "mask of padding": mark("Scores of padding become −∞ (padding mask)."),
    "mask of nothing": mark("Nothing is masked here: every query may attend to every key."),
    "softmax": mark("Each row becomes weights that sum to 1; a score higher by 1 gets e ≈ 2.7 times the weight."),
    "weigh": mark("Each value is multiplied by its attention weight."),
    "z": mark("The weighted values are summed to one row per query: the head’s output z."),
    "concat": mark("All heads have computed the same in parallel, each with its own queries."),
    "output": mark("W_O combines the heads’ outputs and projects them back to d_model."),
    "output_norm": mark("The output is normalized before it is added to the residual stream."),
    "add_norm": mark("The sub-layer’s output is added to its input (residual connection); then the sum is normalized."),
    "add": mark("The sub-layer’s output is added to its input (residual connection)."),
    "cross": mark("Cross-attention to the source, with its own heads, comes before the feed-forward network."),
    "norm of nothing": mark("The embeddings are already normalized, so the first attention uses them directly."),
    "no norm": mark("This model has no normalization: the row stays unchanged."),
    "norm_2": mark(
        "The sum is normalized as input to the feed-forward network; the residual stream itself is unchanged."
    ),
    "norm_2 of a parallel block": mark(
        "Attention and feed-forward network read the same row in parallel; it is normalized separately for the network."
    ),
    "feed_forward": mark("Each row passes through the same network separately: no information moves between tokens."),
    "feed_forward_norm": mark("The output is normalized before it is added to the residual stream."),
    "add_norm_2": mark("The result is added and the sum normalized: the output of the layer."),
    "add_2": mark("The result is added: the output of the layer."),
}

QUANTITIES: Mapping[str, str] = {
    "x": mark("Attention input"),
    "x_normalized": mark("Attention input, normalized"),
    "memory": mark("Encoder output"),
    "q_projected": mark("Projected queries"),
    "k_projected": mark("Projected keys"),
    "q_normalized": mark("Queries, normalized"),
    "k_normalized": mark("Keys, normalized"),
    "q": mark("Queries"),
    "k": mark("Keys"),
    "v": mark("Values"),
    "product": mark("Dot products of queries and keys"),
    "scaled": mark("Scaled dot products"),
    "bias": mark("Position bias"),
    "biased": mark("Scores with position bias"),
    "capped": mark("Scores after the soft cap"),
    "mask": mark("Mask: 1 = may attend"),
    "attn_scores": mark("Masked scores (−∞ where masked)"),
    "pattern": mark("Attention pattern (weights)"),
    "pattern_dropped": mark("Attention pattern after dropout"),
    "z": mark("Head output z"),
    "concat": mark("All heads’ z, concatenated"),
    "attn_projected": mark("Attention output before normalization"),
    "attn_out": mark("Attention output"),
    "attn_dropped": mark("Attention output after dropout"),
    "resid_mid": mark("Residual sum"),
    "normalized": mark("Residual sum, normalized"),
    "cross_x": mark("Cross-attention input"),
    "cross_concat": mark("Cross-attention heads’ z, concatenated"),
    "cross_projected": mark("Cross-attention output before normalization"),
    "cross_out": mark("Cross-attention output"),
    "resid_mid_cross": mark("Residual sum after cross-attention"),
    "normalized_cross": mark("Residual sum after cross-attention, normalized"),
    "mlp_pre": mark("Hidden units before the activation"),
    "mlp_linear": mark("Up-projection before gating"),
    "mlp_post": mark("Hidden units"),
    "mlp_projected": mark("Feed-forward output before normalization"),
    "mlp_out": mark("Feed-forward output"),
    "mlp_dropped": mark("Feed-forward output after dropout"),
    "resid_post": mark("Second residual sum"),
    "out": mark("Layer output"),
}
SYMBOLS: Mapping[str, str] = {"mask": mark("allowed")}  # of quantities that are written as a word
PLACES: Mapping[str, str] = {  # the meaning of a row or a column, and its position
    "query": mark("query {place}"),
    "key": mark("key {place}"),
    "query key": mark("query → key {place}"),
    "d_head": mark("dimension {place} of the head"),
    "head d_head": mark("dimension {place} of the concatenated heads"),
    "d_model": mark("dimension {place}"),
    "d_ff": mark("hidden unit {place}"),
}
NOTES: Mapping[str, str] = {
    "allowed": mark("allowed: the query may attend to this key"),
    "later": mark("masked: this key comes after the query"),
    "outside window": mark("masked: this key is outside the query’s window"),
    "padding": mark("masked: this key is padding"),
    "no key": mark("this query may not attend to any key, so its row of the pattern is all 0"),
    "not rotated": mark("RoPE does not rotate this dimension"),
    "intervention": mark("set by an intervention, so it does not follow from this formula"),
}
TORCH_REASONS: Mapping[str, str] = {
    "rotary": mark("torch.nn.MultiheadAttention does not apply rotary embeddings"),
    "norm": mark("torch.nn.MultiheadAttention does not normalize queries and keys"),
    "cap": mark("torch.nn.MultiheadAttention does not cap scores"),
    "intervention": mark("torch.nn.MultiheadAttention is not compared, as an intervention acts inside this attention"),
    "width": mark(
        "torch.nn.MultiheadAttention requires a head width of d_model / n_heads, which this model does not have"
    ),
}
