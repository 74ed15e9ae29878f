"""The weights of every box of the plan: each matrix with its shape, and how many parameters it has.

A matrix that two boxes share is there at both, and counted at the first.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from headlight.analysis.blueprint.plan import blueprint_of
from transformer_core.config import ModelConfig

_PROJECTIONS = {"q": "Q", "k": "K", "v": "V", "out": "O", "up": "1", "gate": "gate", "down": "2"}
_SYMBOLS = {  # by the last words of a parameter's name
    f"{module}.{kind}": f"{letter}_{index}"
    for module, index in _PROJECTIONS.items()
    for kind, letter in (("weight", "W"), ("bias", "b"))
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
        return math.prod(self.shape)

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
    by_box: dict[str, list[Weight]] = {name: [] for name in plan.boxes}
    first: dict[int, str] = {}
    for name, parameter in assemble(config).named_parameters(remove_duplicate=False):
        earlier = first.setdefault(id(parameter), name)
        weight = Weight(
            name=name,
            symbol=_SYMBOLS.get(".".join(name.split(".")[-2:]), ""),
            shape=tuple(parameter.shape),
            shared_with="" if earlier == name else earlier,
        )
        for box in plan.boxes.values():  # its own, and the layer around it
            if box.module and name.startswith(f"{box.module}."):
                by_box[box.name].append(weight)
    return {name: tuple(weights) for name, weights in by_box.items()}


def all_weights(config: ModelConfig) -> list[Weight]:
    """Return the weights of a model, each once, in the order of the forward pass."""
    weights = weights_of(config)
    boxes = blueprint_of(config).boxes.values()
    return [weight for box in boxes if box.kind != "layer" for weight in weights[box.name]]


def n_parameters(config: ModelConfig) -> int:
    """Return how many parameters a model has, each shared matrix counted once."""
    return sum(weight.n_parameters for weight in all_weights(config))
