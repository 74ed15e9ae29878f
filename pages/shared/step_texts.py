"""What is said of the stages of attention, step by step: what each is called, and one sentence on what to notice.

Titles are by the names of the stages, sentences by their `notice`. English, marked.
"""

from collections.abc import Mapping

from transformer_core.errors import mark

TITLES: Mapping[str, str] = {
    "input": mark("What goes in"),
    "norm": mark("Normalize"),
    "projection": mark("Queries, keys and values"),
    "qk_norm": mark("Normalize queries and keys"),
    "rotation": mark("Apply RoPE"),
    "product": mark("Dot products"),
    "scale": mark("Divide by √d_k"),
    "bias": mark("Add position bias"),
    "mask": mark("Mask"),
    "softmax": mark("Softmax"),
    "weigh": mark("Weigh the values"),
    "z": mark("Add up"),
    "concat": mark("Heads side by side"),
    "output": mark("Through W_O"),
    "add_norm": mark("Add & norm"),
    "add": mark("Add"),
    "cross": mark("Cross-attention"),
    "norm_2": mark("Normalize again"),
    "feed_forward": mark("Feed-forward"),
    "add_norm_2": mark("Second add & norm"),
    "add_2": mark("Add again"),
}

NOTICES: Mapping[str, str] = {
    "input": mark("Each token is a row of numbers; the head never sees the token itself, only its row."),
    "input of later layers": mark(
        "These rows have been through the layers below: each holds something of the tokens around it."
    ),
    "input of cross-attention": mark("Queries come from the decoder, keys and values from the encoder output."),
    "norm": mark("Every row comes to about the same size, so that no token shouts down the others."),
    "projection": mark("The same row is read three times: what it looks for, what it offers, and what it would tell."),
    "projection of cross-attention": mark(
        "Queries come from the decoder; keys and values come from the encoder's output."
    ),
    "projection for groups": mark("Several heads share these keys and values; only the queries are this head's own."),
    "qk_norm": mark("Queries and keys are brought to one size, so that their direction decides and not their length."),
    "rotation": mark("Each pair of numbers turns by an angle that grows with the position; the lengths stay the same."),
    "product": mark("A dot product is large where query and key are large in the same dimensions, with the same sign."),
    "scale": mark(
        "All scores shrink by the same factor, a temperature: their order stays, the softmax becomes less extreme."
    ),
    "bias": mark("This number depends only on how far the key is from the query, and on nothing that they say."),
    "mask": mark("Whatever comes after the query becomes −∞: the model cannot look at what it has yet to say."),
    "mask of a window": mark("Keys that are too far from the query become −∞, as if they were not there."),
    "mask of padding": mark("Padding becomes −∞: it fills up the row and says nothing."),
    "mask of nothing": mark("Nothing is forbidden here: every query may look at every key."),
    "softmax": mark(
        "Each row becomes shares that add up to 1; a score that is larger by 1 gets e = 2.7 times the share."
    ),
    "weigh": mark("Each value is multiplied by its weight: what gets no attention fades away."),
    "z": mark("The weighted values add up to one row for each query: what this head has found for it."),
    "concat": mark("All heads have done the same at the same time, each with queries of its own."),
    "output": mark("W_O mixes what the heads have found and brings it back to the width of the model."),
    "add_norm": mark("The layer does not replace the row, it adds to it; then the sum is brought to one size."),
    "add": mark("The layer does not replace the row, it adds to it: what went in is still there."),
    "cross": mark(
        "Before the feed-forward network, the decoder looks at the source: another attention with heads of its own."
    ),
    "norm of nothing": mark("The embeddings are normalized already, so the first attention reads them as they are."),
    "no norm": mark("This model has no normalization: the row goes on as it is."),
    "norm_2": mark("The sum is normalized for the feed-forward network alone; the sum itself goes on as it is."),
    "norm_2 of a parallel block": mark(
        "Attention and feed-forward network read the same row side by side: it is normalized once more for the network."
    ),
    "feed_forward": mark("Each row goes through the same small network by itself: here no token looks at another."),
    "add_norm_2": mark("Once more the result is added and the sum normalized: this is what the layer hands on."),
    "add_2": mark("Once more the result is added: this is what the layer hands on."),
}
