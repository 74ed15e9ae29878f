"""The parameters that the formulas of a walk are filled in with."""

from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Float

from transformer_core.model.transformer import Transformer


class Weights:
    """Parameters of a model by their path, as they are kept; as float64 where one asks."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Hold arrays, in any precision."""
        self._arrays = arrays

    @classmethod
    def of(cls, model: Transformer, modules: Iterable[str]) -> "Weights":
        """Return the parameters of some modules, by the modules' paths; those on the CPU are not copied."""
        prefixes = tuple(f"{module}." for module in modules)
        parameters = model.named_parameters()
        return cls(
            {name: value.detach().float().cpu().numpy() for name, value in parameters if name.startswith(prefixes)}
        )

    def __getitem__(self, name: str) -> Float[np.ndarray, "..."]:
        """Return a parameter in float64."""
        return self._arrays[name].astype(np.float64)

    def __contains__(self, module: str) -> bool:
        """Return whether a module has weights."""
        return f"{module}.weight" in self._arrays

    def row(self, name: str, index: int) -> Float[np.ndarray, " column"]:
        """Return one row of a parameter in float64."""
        return self._arrays[name][index].astype(np.float64)

    def columns(self, name: str, first: int, n: int) -> Float[np.ndarray, "row column"]:
        """Return neighbouring columns of a parameter in float64."""
        return self._arrays[name][:, first : first + n].astype(np.float64)

    def bias(self, module: str) -> Float[np.ndarray, " width"] | None:
        """Return the bias of a projection or a normalization; None where it has none."""
        return self[f"{module}.bias"] if f"{module}.bias" in self._arrays else None
