"""The twelve ideas that the knowledge test asks about; the model's own code computes each correct answer."""

from collections.abc import Mapping
from typing import Any

import torch

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.tour.lesson_engine.knowledge.item import Idea, Solution, idea
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


@idea(
    "scaling",
    mark("Scaled dot product"),
    mark(
        "A query and a key of d_head = {d_head} numbers have the dot product {product}. What is their attention "
        "score, scaled as in the paper?"
    ),
    [(16, 12), (16, 20), (25, 35), (36, 30), (49, 28), (64, 24), (64, 48), (81, 45), (100, 70)],
    within=0.01,
)
def _scaling(d_head: int, product: int) -> float:
    q, k = torch.zeros(2, 1, 1, 1, d_head)
    q[..., 0], k[..., 0] = product, 1
    return attention_scores(q, k).item()


@idea(
    "softmax",
    mark("Softmax"),
    mark(
        "A query may attend to two keys, with the scores {first} and {second}. What is the attention weight of the "
        "first key? Two decimals are enough; an expression such as exp(1)/3 is fine."
    ),
    [(1, 0), (2, 0), (0, 1), (0, 2), (3, 1), (1, 3), (2, 1), (1, 2), (4, 1)],
    within=0.01,
)
def _softmax(first: int, second: int) -> float:
    scores = torch.tensor([[[[first, second]]]], dtype=torch.float64)
    return attention_pattern(scores)[0, 0, 0, 0].item()


@idea(
    "causal-mask",
    mark("Causal mask"),
    mark("A decoder reads {n} tokens with a causal mask. How many of the {n} × {n} cells (query, key) are allowed?"),
    [(n,) for n in range(5, 13)],
)
def _causal(n: int) -> float:
    return int(causal_mask(n).sum())


@idea(
    "padding-mask",
    mark("Padding mask"),
    mark(
        "A text of {n} tokens is padded to {n_padded}. The padding mask hides padding as keys, from all {n_padded} "
        "queries, those of padding included. How many of the {n_padded} × {n_padded} cells does it hide?"
    ),
    [(4, 6), (5, 8), (6, 8), (7, 10), (5, 9), (8, 10), (4, 7), (6, 9)],
)
def _padding(n: int, n_padded: int) -> float:
    tokens = torch.tensor([[5] * n + [PAD] * (n_padded - n)])
    allowed = padding_mask(tokens, PAD).expand(1, 1, n_padded, n_padded)
    return int((~allowed).sum())


@idea(
    "heads",
    mark("Multi-head attention"),
    mark(
        "A model has d_model = {d_model} and {n_heads} heads per layer, sized as in the paper. What is d_head, the "
        "number of dimensions of one head’s queries?"
    ),
    [(512, 8), (256, 8), (384, 4), (640, 5), (160, 8), (240, 6), (336, 7), (768, 16)],
)
def _heads(d_model: int, n_heads: int) -> float:
    return ModelConfig(vocab_size=10, d_model=d_model, n_heads=n_heads).d_head


@idea(
    "positions",
    mark("Positional encoding"),
    mark(
        "The paper’s sinusoidal encoding with d_model = {d_model}: what is the sum of the {d_model} numbers that "
        "are added to the first token, at position 0?"
    ),
    [(d_model,) for d_model in (8, 12, 16, 24, 32, 48, 64, 128)],
    within=0.01,
)
def _positions(d_model: int) -> float:
    return sinusoidal_table(1, d_model).sum().item()


@idea(
    "residual",
    mark("Residual connection"),
    mark(
        "In one dimension, the residual stream holds {before} before a pre-norm block. The block’s attention "
        "outputs {attention} in this dimension, its feed-forward network {feed_forward}. What does the stream hold "
        "after the block?"
    ),
    [
        *((2.0, 0.5, -1.0), (3.0, -0.5, 1.5), (-1.0, 2.5, 0.5), (1.5, 1.0, -2.0), (-2.0, 1.5, 3.0)),
        *((4.0, -2.5, 1.0), (0.5, 3.0, -1.5), (-3.0, 0.5, 2.0)),
    ],
    within=0.01,
)
def _residual(before: float, attention: float, feed_forward: float) -> float:
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
    return acts[f"{block}.hook_resid_post"][0, 0, 0].item()


@idea(
    "layer-norm",
    mark("Layer normalization"),
    mark(
        "The numbers of a token have the mean {mean} and the standard deviation {deviation}. What does layer "
        "normalization (gain 1, bias 0) turn the number {number} into?"
    ),
    [(3, 2, 4), (5, 4, -3), (1, 2, -1), (10, 4, 2), (4, 6, 4), (2, 4, -1), (7, 2, -3), (6, 8, 2)],
    within=0.01,
)
def _layer_norm(mean: int, deviation: int, half_deviations: int) -> Solution:
    at = [-3, -1, -1, -1, 0, 0, 2, 4]  # half deviations from the mean; their mean is 0 and their deviation 2
    x = mean + deviation * torch.tensor(at, dtype=torch.float64) / 2
    place = at.index(half_deviations)
    norm = LayerNorm(len(at), 1e-12).double()
    return Solution(norm(x)[place].item(), values={"number": x[place].item()})


@idea(
    "cross-attention",
    mark("Cross-attention"),
    mark(
        "An encoder-decoder reads {n_source} source tokens, and its decoder {n_target} target tokens. What is "
        "the shape of the attention pattern of a cross-attention head, as queries × keys?"
    ),
    [(7, 9), (9, 6), (5, 8), (8, 11), (10, 7), (6, 4), (11, 9), (4, 7)],
)
def _cross_attention(n_source: int, n_target: int) -> Solution:
    config = ModelConfig(n_encoder_layers=1, **SMALL)
    site = ATTENTIONS["cross"].site(0)
    model = build(config, seed=0).eval()
    with torch.inference_mode(), capture(model, site) as acts:
        model(torch.ones(1, n_source, dtype=torch.long), torch.ones(1, n_target, dtype=torch.long))
    _, _, n_queries, n_keys = acts[site].shape
    shapes = [(n_target, n_source), (n_source, n_target), (n_target, n_target), (n_source, n_source)]
    choices = tuple(Message(f"{rows} × {columns}") for rows, columns in shapes)
    return Solution(shapes.index((n_queries, n_keys)), choices)


@idea(
    "label-smoothing",
    mark("Label smoothing"),
    mark(
        "Label smoothing spreads {smoothing} evenly over a vocabulary of {n_vocab} tokens, including the "
        "correct one. What is the target probability of the correct token?"
    ),
    [(10, 0.1), (5, 0.1), (4, 0.2), (10, 0.2), (20, 0.1), (5, 0.2), (4, 0.1), (20, 0.2)],
    within=0.002,
)
def _smoothing(n_vocab: int, smoothing: float) -> float:
    logits = torch.zeros(1, 1, n_vocab, dtype=torch.float64, requires_grad=True)
    label_smoothed_cross_entropy(logits, torch.tensor([[0]]), smoothing=smoothing).backward()
    assert logits.grad is not None, "the loss depends on the logits"
    target = logits.softmax(dim=-1) - logits.grad  # the gradient is prediction minus target
    return target[0, 0, 0].item()


@idea(
    "temperature",
    mark("Temperature"),
    mark(
        "Three tokens A, B and C have the logits {logits}. The temperature is changed from 1 to {temperature}. "
        "Which token is the most probable one then, and how does its probability change?"
    ),
    [
        *(((2, 1, 0), 2.0), ((0, 2, 1), 0.5), ((1, 0, 3), 2.0), ((3, 1, 2), 0.5), ((1, 3, 0), 4.0)),
        *(((0, 1, 2), 0.25), ((2, 0, 1), 0.5), ((1, 2, 0), 2.0)),
    ],
)
def _temperature(logits: tuple[int, int, int], temperature: float) -> Solution:
    usual, changed = (
        next_log_probs(torch.tensor(logits, dtype=torch.float64), (), Sampling(temperature=t)) for t in (1, temperature)
    )
    best = int(changed.argmax())
    second = sorted(range(3), key=logits.__getitem__)[1]
    kinds = [(best, True), (best, False), (second, True), (second, False)]
    choices = tuple(
        Message("{token}; its probability rises", token="ABC"[place])
        if rises
        else Message("{token}; its probability falls", token="ABC"[place])
        for place, rises in kinds
    )
    right = kinds.index((best, bool(changed[best] > usual[best])))
    return Solution(right, choices, {"logits": ", ".join(map(str, logits))})


@idea(
    "shifted-right",
    mark("Targets shifted right"),
    mark(
        "In training, the target is “{target} <eos>”. Which token does the decoder read at the position where it "
        "has to predict “{word}”?"
    ),
    [
        *(("le chat noir dort bien", 2), ("une femme lit son livre", 3), ("il mange la pomme rouge", 2)),
        *(("elle voit un petit chien", 3), ("nous buvons du café chaud", 2), ("mon ami habite cette rue", 3)),
        *(("tu portes ce grand sac", 2), ("les enfants jouent dehors ensemble", 3)),
    ],
)
def _shifted_right(target: str, place: int) -> Solution:
    tokenizer = train_tokenizer([target], kind="word", vocab_size=50)
    batches = batches_for([Pair(target, target)], tokenizer, "encoder_decoder", max_seq_len=16, batch_size=1, seed=0)
    _, read = next(batches).inputs
    words = target.split()
    offered = words[place - 2 : place + 2]
    right = offered.index(tokenizer.target.labels(read[0].tolist())[place])
    return Solution(right, tuple(Message("“{word}”", word=word) for word in offered), {"word": words[place]})


IDEAS = tuple(one for one in list(vars().values()) if isinstance(one, Idea))
