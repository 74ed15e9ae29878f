"""The texts about the stages of attention, step by step: what each is called, and one sentence on what to notice.

Titles are by the names of the stages, sentences by their `notice`. English, marked.
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
    "mask": mark("Mask"),
    "softmax": mark("Softmax"),
    "weigh": mark("Weight the values"),
    "z": mark("Weighted sum"),
    "concat": mark("Concatenate heads"),
    "output": mark("Output projection W_O"),
    "add_norm": mark("Add & norm"),
    "add": mark("Add"),
    "cross": mark("Cross-attention"),
    "norm_2": mark("Normalize again"),
    "feed_forward": mark("Feed-forward"),
    "add_norm_2": mark("Second add & norm"),
    "add_2": mark("Add again"),
}

NOTICES: Mapping[str, str] = {
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
    "add_norm_2": mark("The result is added and the sum normalized: the output of the layer."),
    "add_2": mark("The result is added: the output of the layer."),
}
