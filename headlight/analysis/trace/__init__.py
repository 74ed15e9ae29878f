"""One text through a model: the tokens it reads, the attention of its heads, its predictions."""
