"""What a shipped model computes of a text, from captures of our own: what pages draw is held to that."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

import transformer_core as tc
from tests.e2e.browser import ROOT

MODULES = {  # of each attention
    "encoder": "encoder.blocks.{layer}.self_attn",
    "decoder": "decoder.blocks.{layer}.self_attn",
    "cross": "decoder.blocks.{layer}.cross_attn",
}
N_NEW = 32  # tokens that a decoder goes on with: more than any page lets it at first


@dataclass(frozen=True, kw_only=True, eq=False)
class Captured:
    """A text with its greedy continuation; the arrays have no batch axis."""

    sites: Mapping[str, np.ndarray]
    logits: np.ndarray  # [pos, vocab] of the last stack
    source: tuple[int, ...]  # tokens of the encoder; () without one
    target: tuple[int, ...]  # tokens of the decoder; () without one
    n_given: int  # of the target: <bos>, or the prompt
    labels: Mapping[str, tuple[str, ...]]  # of the tokens, by "source" and "target"

    def head(self, attention: str, layer: int, head: int, stem: str = "pattern") -> np.ndarray:
        """Return what one head has at a hook point."""
        values: np.ndarray = self.sites[f"{MODULES[attention].format(layer=layer)}.hook_{stem}"]
        return values[min(head, len(values) - 1)]

    def sides(self, attention: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the labels of the queries and of the keys of an attention."""
        queries = self.labels["source" if attention == "encoder" else "target"]
        return queries, queries if attention != "cross" else self.labels["source"]


@cache
def loaded(model: str) -> tuple[Any, Any]:
    """Return a shipped model and its tokenizer."""
    return tc.load(ROOT / "checkpoints" / model)


@cache
@torch.inference_mode()
def captured(model: str, text: str, most: int = 4096) -> Captured:
    """Read a text, and what the model writes.

    Args:
        model: a shipped one.
        text: the source, the prompt, or a text with blanks.
        most: tokens that are read on each side.
    """
    transformer, tokenizer = loaded(model)
    config = transformer.config
    ids = tokenizer.encode_for(text, config.architecture)
    most = min(most, config.max_seq_len)
    is_alone = config.architecture == "decoder_only"
    read = most - min(24, most // 4) if is_alone else most  # a prompt leaves room for what goes on behind it
    if len(ids) > read:  # the rest is not read, but for the token that ends a text
        ids = ids[:read]
        ids[-1] = ids[-1] if is_alone else tokenizer.eos_id
    tokens = torch.tensor([ids])
    source, target, n_given = tuple(ids), (), 1
    if config.architecture == "encoder_decoder":
        written = tc.greedy_decode(transformer, tokens).tokens[:, :-1][:, :most]  # what ends it is not read again
    elif is_alone:
        n_given, source, n_new = len(ids), (), min(N_NEW, most - len(ids))
        written = tc.greedy_decode(transformer, tokens, max_new_tokens=n_new).tokens if n_new else tokens
    with tc.capture(transformer, "*") as acts:
        if config.architecture == "encoder_only":
            logits = transformer(tokens)
        else:
            target = tuple(written[0].tolist())
            logits = transformer(tokens, written) if source else transformer(written)
    labels = {
        "source": tuple(tokenizer.labels(source)) if source else (),
        "target": tuple(tokenizer.target.labels(target)) if target else (),
    }
    sites = {site: acts[site][0].float().numpy() for site in tc.site_names(transformer) if site in acts}
    return Captured(sites=sites, logits=logits[0].numpy(), source=source, target=target, n_given=n_given, labels=labels)
