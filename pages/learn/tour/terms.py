"""The terms that each chapter introduces, as the glossary names them."""

from collections.abc import Mapping

TERMS: Mapping[str, tuple[str, ...]] = {  # by the chapter's name
    "why-attention": ("attention", "attention-head", "attention-pattern"),
    "tokens-and-embeddings": ("token", "byte-level-bpe", "special-tokens", "tied-embeddings"),
    "positions": ("positional-encoding", "sinusoidal-encoding", "learned-positions"),
    "one-word-six-steps": ("query-key-value", "attention-score", "attention-pattern"),
    "shifted-right": ("teacher-forcing", "causal-mask"),
    "masks": ("causal-mask", "padding-mask"),
    "many-heads": ("attention-head", "residual-stream"),
    "cross-attention": ("encoder-decoder", "self-attention", "cross-attention"),
    "feed-forward-residual-norm": ("feed-forward", "residual-stream", "layer-norm", "pre-norm"),
    "logits-and-softmax": ("logits", "tied-embeddings", "temperature", "greedy-decoding"),
    "training": ("cross-entropy", "teacher-forcing", "label-smoothing", "perplexity"),
    "learning-rate": ("warm-up",),
    "decoding": ("logits", "greedy-decoding", "beam-search", "length-penalty", "temperature"),
    "what-heads-do": ("previous-token-score", "induction-head", "attention-sink", "guided-head"),
    "does-the-picture-matter": ("zero-ablation", "norm-weighted-attention"),
    "il-or-elle": ("activation-patching", "denoising-and-noising", "attention-head"),
    "rows": ("attention-pattern", "dropout"),
    "future": ("causal-mask", "leak-test"),
    "axes": ("query-key-value", "attention-pattern"),
    "roles": ("query-key-value", "cross-attention"),
    "scale": ("attention-score", "attention-entropy"),
    "padding": ("padding-mask", "cross-attention"),
    "word-order": ("positional-encoding", "attention-pattern"),
    "residual": ("residual-stream",),
    "reshape": ("attention-head", "query-key-value"),
    "softmax-twice": ("logits", "cross-entropy"),
    "norm": ("layer-norm", "rmsnorm"),
    "targets": ("teacher-forcing", "cross-entropy"),
}
