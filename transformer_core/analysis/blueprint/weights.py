"""The weights of every box of the plan: each matrix with its shape, and how many parameters it has.

A matrix that two boxes share is there at both, and counted at the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from transformer_core.analysis.blueprint.plan import Blueprint, Box, blueprint_of
from transformer_core.config import ModelConfig

_SYMBOLS = {  # of the last words of a parameter's name
    "q.weight": "W_Q",
    "k.weight": "W_K",
    "v.weight": "W_V",
    "out.weight": "W_O",
    "up.weight": "W_1",
    "gate.weight": "W_gate",
    "down.weight": "W_2",
    "q.bias": "b_Q",
    "k.bias": "b_K",
    "v.bias": "b_V",
    "out.bias": "b_O",
    "up.bias": "b_1",
    "gate.bias": "b_gate",
    "down.bias": "b_2",
}


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A matrix or a vector that training changes."""

    name: str  # in the model, such as "decoder.blocks.0.self_attn.q.weight"
    symbol: str  # as papers write it, "W_Q"; "" where there is no custom
    shape: tuple[int, ...]
    shared_with: str = ""  # the first name of the same matrix, where it has several; there it is counted

    @property
    def n_numbers(self) -> int:
        """How many numbers it holds."""
        n = 1
        for size in self.shape:
            n *= size
        return n

    @property
    def n_parameters(self) -> int:
        """How many parameters it brings; none where it is another one's."""
        return 0 if self.shared_with else self.n_numbers


@lru_cache(maxsize=16)
def weights_of(config: ModelConfig) -> Mapping[str, tuple[Weight, ...]]:
    """Return the weights of each box, by its name; those of a layer are all that lie in it.

    Args:
        config: of the model; its modules are built without memory for their numbers.
    """
    from transformer_core.model.transformer import assemble

    plan = blueprint_of(config)
    found: dict[str, list[Weight]] = {name: [] for name in plan.boxes}
    first: dict[int, str] = {}
    for name, parameter in assemble(config).named_parameters(remove_duplicate=False):
        earlier = first.setdefault(id(parameter), name)
        weight = Weight(
            name=name,
            symbol=_SYMBOLS.get(".".join(name.split(".")[-2:]), ""),
            shape=tuple(parameter.shape),
            shared_with="" if earlier == name else earlier,
        )
        for box in _holders(plan, name):
            found[box.name].append(weight)
    return {name: tuple(weights) for name, weights in found.items()}


def n_parameters(config: ModelConfig) -> int:
    """Return how many parameters a model has, each shared matrix counted once."""
    return sum(weight.n_parameters for weight in all_weights(config))


def all_weights(config: ModelConfig) -> list[Weight]:
    """Return the weights of a model, each once, in the order of the forward pass."""
    weights = weights_of(config)
    boxes = blueprint_of(config).boxes.values()
    return [weight for box in boxes if box.kind != "layer" for weight in weights[box.name]]


def _holders(plan: Blueprint, name: str) -> list[Box]:
    """Return the boxes that a parameter lies in: its own, and the layer around it."""
    return [box for box in plan.boxes.values() if box.module and name.startswith(f"{box.module}.")]
