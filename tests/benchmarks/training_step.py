"""A training step of our encoder-decoder against torch.nn.Transformer of the same configuration.

Both have three layers, d_model 256, d_ff 1024, 8 heads, a vocabulary of 8,000 with all three matrices tied, embeddings
of standard deviation d_model^-0.5, label smoothing 0.1 and the paper's Adam; a batch has 64 pairs of 24 tokens. The
peer comes three times: as torch gives it (with dropout on the pattern and inside the feed-forward network too); with
the paper's dropout alone, as ours has it; and with that and torch's fused Adam. Ours is the unchanged loop, which also
measures the gradient and may shorten it.
"""

import math
from collections.abc import Callable
from itertools import repeat

import torch
from torch import Tensor, nn

import transformer_core as tc
from tests.benchmarks.interleaved import Row, interleaved, rows
from transformer_core.corpora.batch_order import Batch
from transformer_core.model.positions import sinusoidal_table
from transformer_core.training.config import TrainingConfig
from transformer_core.training.loop import train

TITLE = "Training step, 64 pairs of 24 tokens, 3 layers, d_model 256, vocabulary 8,000"
N_PAIRS, N_TOKENS = 64, 24
CONFIG = tc.ModelConfig(
    vocab_size=8000, d_model=256, d_ff=1024, n_heads=8, n_encoder_layers=3, n_decoder_layers=3, max_seq_len=64
)


class Peer(nn.Module):
    """torch.nn.Transformer with embeddings, positions and a tied last layer."""

    positions: Tensor

    def __init__(self, *, paper_dropout: bool) -> None:
        super().__init__()
        c = CONFIG
        self.transformer = nn.Transformer(
            c.d_model, c.n_heads, c.n_encoder_layers, c.n_decoder_layers, c.d_ff, c.dropout, batch_first=True
        )
        for parameter in self.transformer.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        self.embed = nn.Embedding(c.vocab_size, c.d_model)
        nn.init.normal_(self.embed.weight, std=c.d_model**-0.5)
        self.unembed = nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.unembed.weight = self.embed.weight
        self.dropout = nn.Dropout(c.dropout)
        self.register_buffer("positions", sinusoidal_table(c.max_seq_len, c.d_model))
        self.register_buffer("look_ahead", torch.full((N_TOKENS, N_TOKENS), -math.inf).triu(1))
        if paper_dropout:
            for module in self.transformer.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
                elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                    module.dropout.p = 0.0  # the one inside the feed-forward network

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src_padding = torch.zeros(src.shape).masked_fill(src == 0, -math.inf)
        tgt_padding = torch.zeros(tgt.shape).masked_fill(tgt == 0, -math.inf)
        return self.unembed(
            self.transformer(
                self.embedded(src),
                self.embedded(tgt),
                tgt_mask=self.look_ahead,
                src_key_padding_mask=src_padding,
                tgt_key_padding_mask=tgt_padding,
                memory_key_padding_mask=src_padding,
            )
        )

    def embedded(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embed(tokens) * math.sqrt(CONFIG.d_model) + self.positions[: tokens.shape[1]])


class PeerStep:
    """One step of the usual loop, on the same batch again and again."""

    def __init__(self, batch: Batch, *, paper_dropout: bool = False, fused: bool = False) -> None:
        self.model = Peer(paper_dropout=paper_dropout)
        self.loss = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=fused or None
        )
        self.batch = batch

    def __call__(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.model(*self.batch.inputs)
        self.loss(logits.flatten(0, 1), self.batch.targets.flatten()).backward()
        self.optimizer.step()


def run() -> list[Row]:
    """Time the steps in turn."""
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    source, target, targets = torch.randint(4, CONFIG.vocab_size, (3, N_PAIRS, N_TOKENS))
    batch = Batch((source, target), targets)
    training = TrainingConfig(steps=10**9, batch_size=N_PAIRS, warmup_steps=4000)
    ours = train(tc.build(CONFIG), repeat(batch), training)
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: next(ours),
        "torch.nn.Transformer": PeerStep(batch),
        "the same, the paper's dropout alone": PeerStep(batch, paper_dropout=True),
        "the same, and fused Adam": PeerStep(batch, paper_dropout=True, fused=True),
    }
    return rows(interleaved(contestants, rounds=12), "ours")
