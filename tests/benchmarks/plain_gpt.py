"""A GPT and its training as people write them in plain PyTorch: the peer of our small decoder, of the same shape.

After nanoGPT's choices: pre-norm, learned positions, exact GELU, no biases, the embedding tied to the last layer, AdamW
with weight decay on matrices alone, batches of random crops, the gradient clipped at 1. AdamW is fused on request only:
people, and nanoGPT, ask for it on a GPU.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F


class Norm(nn.Module):
    """LayerNorm without a bias."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, None, 1e-5)


class CausalSelfAttention(nn.Module):
    """Queries, keys and values in one projection, torch's fused kernel."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, pos, d_model = x.shape
        parts = self.qkv(x).split(d_model, dim=2)
        q, k, v = (part.view(batch, pos, self.n_heads, d_model // self.n_heads).transpose(1, 2) for part in parts)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(z.transpose(1, 2).contiguous().view(batch, pos, d_model))


class Block(nn.Module):
    """Attention and feed-forward, each in a residual connection."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.ln_1, self.attn = Norm(d_model), CausalSelfAttention(d_model, n_heads)
        self.ln_2 = Norm(d_model)
        self.mlp = nn.Sequential(
            nn.Linear(d_model, 4 * d_model, bias=False), nn.GELU(), nn.Linear(4 * d_model, d_model, bias=False)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class PlainGPT(nn.Module):
    """The model; with targets it returns the loss too."""

    def __init__(self, *, vocab_size: int, n_positions: int, n_layers: int, n_heads: int, d_model: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(n_positions, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.ln_f = Norm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                ends_branch = name.endswith(("attn.out.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * n_layers) if ends_branch else 1))

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-1)


class PlainTraining:
    """The usual loop, a step a call."""

    def __init__(
        self, model: PlainGPT, text: NDArray[np.uint16], *, batch_size: int, pos: int, fused: bool = False
    ) -> None:
        self.model, self.text, self.batch_size, self.pos = model, text, batch_size, pos
        decayed = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
        others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=fused or None)
        self.losses: list[float] = []

    def __call__(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-3
        tokens, targets = self.batch()
        loss = self.model(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.losses.append(loss.item())

    def batch(self) -> tuple[Tensor, Tensor]:
        """Return random crops and what follows each of their tokens."""
        starts = torch.randint(len(self.text) - self.pos, (self.batch_size,))
        tokens = [torch.from_numpy(self.text[i : i + self.pos].astype(np.int64)) for i in starts]
        targets = [torch.from_numpy(self.text[i + 1 : i + 1 + self.pos].astype(np.int64)) for i in starts]
        return torch.stack(tokens), torch.stack(targets)
