"""The twelve ideas that the knowledge test asks about; each correct answer is what the model's own code computes."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.language import localized
from pages.learn.tour.lesson_engine.knowledge.item import Idea, Item
from pages.learn.tour.lesson_engine.value import plain_number
from transformer_core.config import ModelConfig
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Pair
from transformer_core.decoding.sampling import next_log_probs
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import Message, mark
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.interventions import replace
from transformer_core.model.attention import attention_pattern, attention_scores
from transformer_core.model.masks import causal_mask, padding_mask
from transformer_core.model.norms import LayerNorm
from transformer_core.model.positions import sinusoidal_table
from transformer_core.model.transformer import build
from transformer_core.text.tokenizer import train_tokenizer
from transformer_core.training.objective import label_smoothed_cross_entropy

PAD = 0
SMALL: Mapping[str, Any] = {
    "vocab_size": 4,
    "d_model": 4,
    "d_ff": 4,
    "n_heads": 1,
    "n_decoder_layers": 1,
    "max_seq_len": 16,
}


def _scaling(d_head: int, product: int) -> Item:
    q, k = torch.zeros(2, 1, 1, 1, d_head)
    q[..., 0], k[..., 0] = product, 1
    return Item(
        ask=Message(
            "A query and a key of d_head = {d_head} numbers have the dot product {product}. What is their attention "
            "score, scaled as in the paper?",
            d_head=d_head,
            product=product,
        ),
        right=round(attention_scores(q, k).item(), 4),
        within=0.01,
    )


def _softmax(first: int, second: int) -> Item:
    scores = torch.tensor([[[[first, second]]]], dtype=torch.float64)
    return Item(
        ask=Message(
            "A query may attend to two keys, with the scores {first} and {second}. What is the attention weight of the "
            "first key? Two decimals are enough; an expression such as exp(1)/3 is fine.",
            first=first,
            second=second,
        ),
        right=round(attention_pattern(scores)[0, 0, 0, 0].item(), 4),
        within=0.01,
    )


def _causal(n: int) -> Item:
    return Item(
        ask=Message(
            "A decoder reads {n} tokens with a causal mask. How many of the {n} × {n} cells (query, key) are allowed?",
            n=n,
        ),
        right=int(causal_mask(n).sum()),
    )


def _padding(n: int, n_padded: int) -> Item:
    tokens = torch.tensor([[5] * n + [PAD] * (n_padded - n)])
    allowed = padding_mask(tokens, PAD).expand(1, 1, n_padded, n_padded)
    return Item(
        ask=Message(
            "A text of {n} tokens is padded to {n_padded}. The padding mask hides padding as keys, from all {n_padded} "
            "queries, those of padding included. How many of the {n_padded} × {n_padded} cells does it hide?",
            n=n,
            n_padded=n_padded,
        ),
        right=int((~allowed).sum()),
    )


def _heads(d_model: int, n_heads: int) -> Item:
    return Item(
        ask=Message(
            "A model has d_model = {d_model} and {n_heads} heads per layer, sized as in the paper. What is d_head, the "
            "number of dimensions of one head’s queries?",
            d_model=d_model,
            n_heads=n_heads,
        ),
        right=ModelConfig(vocab_size=10, d_model=d_model, n_heads=n_heads).d_head,
    )


def _positions(d_model: int) -> Item:
    return Item(
        ask=Message(
            "The paper’s sinusoidal encoding with d_model = {d_model}: what is the sum of the {d_model} numbers that "
            "are added to the first token, at position 0?",
            d_model=d_model,
        ),
        right=round(sinusoidal_table(1, d_model).sum().item(), 4),
        within=0.01,
    )


def _residual(before: float, attention: float, feed_forward: float) -> Item:
    config = ModelConfig(
        architecture="decoder_only", n_encoder_layers=0, norm_position="pre", tie_embeddings="target", **SMALL
    )
    model, block = build(config, seed=0).eval(), "decoder.blocks.0"
    edits = {
        f"{block}.hook_resid_pre": replace(before),
        f"{block}.self_attn.hook_attn_out": replace(attention),
        f"{block}.hook_mlp_out": replace(feed_forward),
    }
    with torch.inference_mode(), intervene(model, edits), capture(model, f"{block}.hook_resid_post") as acts:
        model(torch.tensor([[1]]))
    return Item(
        ask=Message(
            "In one dimension, the residual stream holds {before} before a pre-norm block. The block’s attention "
            "outputs {attention} in this dimension, its feed-forward network {feed_forward}. What does the stream hold "
            "after the block?",
            before=plain_number(before),
            attention=plain_number(attention),
            feed_forward=plain_number(feed_forward),
        ),
        right=round(acts[f"{block}.hook_resid_post"][0, 0, 0].item(), 4),
        within=0.01,
    )


def _layer_norm(mean: int, deviation: int, half_deviations: int) -> Item:
    at = [-3, -1, -1, -1, 0, 0, 2, 4]  # half deviations from the mean; their mean is 0 and their deviation 2
    x = mean + deviation * torch.tensor(at, dtype=torch.float64) / 2
    place = at.index(half_deviations)
    norm = LayerNorm(len(at), 1e-12).double()
    return Item(
        ask=Message(
            "The numbers of a token have the mean {mean} and the standard deviation {deviation}. What does layer "
            "normalization (gain 1, bias 0) turn the number {number} into?",
            mean=mean,
            deviation=deviation,
            number=plain_number(x[place].item()),
        ),
        right=round(norm(x)[place].item(), 4),
        within=0.01,
    )


def _cross_attention(n_source: int, n_target: int) -> Item:
    config = ModelConfig(n_encoder_layers=1, **SMALL)
    site = ATTENTIONS["cross"].site(0)
    model = build(config, seed=0).eval()
    with torch.inference_mode(), capture(model, site) as acts:
        model(torch.ones(1, n_source, dtype=torch.long), torch.ones(1, n_target, dtype=torch.long))
    _, _, n_queries, n_keys = acts[site].shape
    shapes = [(n_target, n_source), (n_source, n_target), (n_target, n_target), (n_source, n_source)]
    return Item(
        ask=Message(
            "An encoder-decoder reads {n_source} source tokens, and its decoder {n_target} target tokens. What is "
            "the shape of the attention pattern of a cross-attention head, as queries × keys?",
            n_source=n_source,
            n_target=n_target,
        ),
        choices=tuple(Message(f"{rows} × {columns}") for rows, columns in shapes),
        right=shapes.index((n_queries, n_keys)),
    )


def _smoothing(n_vocab: int, smoothing: float) -> Item:
    logits = torch.zeros(1, 1, n_vocab, dtype=torch.float64, requires_grad=True)
    label_smoothed_cross_entropy(logits, torch.tensor([[0]]), smoothing=smoothing).backward()
    assert logits.grad is not None, "the loss depends on the logits"
    target = logits.softmax(dim=-1) - logits.grad  # the gradient is prediction minus target
    return Item(
        ask=Message(
            "Label smoothing spreads {smoothing} evenly over a vocabulary of {n_vocab} tokens, including the "
            "correct one. What is the target probability of the correct token?",
            smoothing=localized(smoothing, "g"),
            n_vocab=n_vocab,
        ),
        right=round(target[0, 0, 0].item(), 4),
        within=0.002,
    )


def _temperature(logits: tuple[int, int, int], temperature: float) -> Item:
    tokens = ("A", "B", "C")
    usual, changed = (
        next_log_probs(torch.tensor(logits, dtype=torch.float64), (), Sampling(temperature=t)) for t in (1, temperature)
    )
    best = int(changed.argmax())
    second = sorted(range(3), key=logits.__getitem__)[1]
    kinds = [(best, True), (best, False), (second, True), (second, False)]
    return Item(
        ask=Message(
            "Three tokens A, B and C have the logits {logits}. The temperature is changed from 1 to {temperature}. "
            "Which token is the most probable one then, and how does its probability change?",
            logits=", ".join(map(str, logits)),
            temperature=localized(temperature, "g"),
        ),
        choices=tuple(
            Message("{token}; its probability rises", token=tokens[place])
            if rises
            else Message("{token}; its probability falls", token=tokens[place])
            for place, rises in kinds
        ),
        right=kinds.index((best, bool(changed[best] > usual[best]))),
    )


def _shifted_right(target: str, place: int) -> Item:
    tokenizer = train_tokenizer([target], kind="word", vocab_size=50)
    batches = batches_for([Pair(target, target)], tokenizer, "encoder_decoder", max_seq_len=16, batch_size=1, seed=0)
    _, read = next(batches).inputs
    labels: Sequence[str] = tokenizer.target.labels(read[0].tolist())
    words = target.split()
    offered = [words[place - 2], words[place - 1], words[place], words[place + 1]]
    return Item(
        ask=Message(
            "In training, the target is “{target} <eos>”. Which token does the decoder read at the position where it "
            "has to predict “{word}”?",
            target=target,
            word=words[place],
        ),
        choices=tuple(Message("“{word}”", word=word) for word in offered),
        right=offered.index(labels[place]),
    )


IDEAS = (
    Idea(
        "scaling",
        mark("Scaled dot product"),
        _scaling,
        ((16, 12), (16, 20), (25, 35), (36, 30), (49, 28), (64, 24), (64, 48), (81, 45), (100, 70)),
    ),
    Idea(
        "softmax", mark("Softmax"), _softmax, ((1, 0), (2, 0), (0, 1), (0, 2), (3, 1), (1, 3), (2, 1), (1, 2), (4, 1))
    ),
    Idea("causal-mask", mark("Causal mask"), _causal, tuple((n,) for n in range(5, 13))),
    Idea(
        "padding-mask",
        mark("Padding mask"),
        _padding,
        ((4, 6), (5, 8), (6, 8), (7, 10), (5, 9), (8, 10), (4, 7), (6, 9)),
    ),
    Idea(
        "heads",
        mark("Multi-head attention"),
        _heads,
        ((512, 8), (256, 8), (384, 4), (640, 5), (160, 8), (240, 6), (336, 7), (768, 16)),
    ),
    Idea("positions", mark("Positional encoding"), _positions, tuple((d,) for d in (8, 12, 16, 24, 32, 48, 64, 128))),
    Idea(
        "residual",
        mark("Residual connection"),
        _residual,
        (
            *((2.0, 0.5, -1.0), (3.0, -0.5, 1.5), (-1.0, 2.5, 0.5), (1.5, 1.0, -2.0), (-2.0, 1.5, 3.0)),
            *((4.0, -2.5, 1.0), (0.5, 3.0, -1.5), (-3.0, 0.5, 2.0)),
        ),
    ),
    Idea(
        "layer-norm",
        mark("Layer normalization"),
        _layer_norm,
        ((3, 2, 4), (5, 4, -3), (1, 2, -1), (10, 4, 2), (4, 6, 4), (2, 4, -1), (7, 2, -3), (6, 8, 2)),
    ),
    Idea(
        "cross-attention",
        mark("Cross-attention"),
        _cross_attention,
        ((7, 9), (9, 6), (5, 8), (8, 11), (10, 7), (6, 4), (11, 9), (4, 7)),
    ),
    Idea(
        "label-smoothing",
        mark("Label smoothing"),
        _smoothing,
        ((10, 0.1), (5, 0.1), (4, 0.2), (10, 0.2), (20, 0.1), (5, 0.2), (4, 0.1), (20, 0.2)),
    ),
    Idea(
        "temperature",
        mark("Temperature"),
        _temperature,
        (
            *(((2, 1, 0), 2.0), ((0, 2, 1), 0.5), ((1, 0, 3), 2.0), ((3, 1, 2), 0.5), ((1, 3, 0), 4.0)),
            *(((0, 1, 2), 0.25), ((2, 0, 1), 0.5), ((1, 2, 0), 2.0)),
        ),
    ),
    Idea(
        "shifted-right",
        mark("Targets shifted right"),
        _shifted_right,
        (
            *(("le chat noir dort bien", 2), ("une femme lit son livre", 3), ("il mange la pomme rouge", 2)),
            *(("elle voit un petit chien", 3), ("nous buvons du café chaud", 2), ("mon ami habite cette rue", 3)),
            *(("tu portes ce grand sac", 2), ("les enfants jouent dehors ensemble", 3)),
        ),
    ),
)
