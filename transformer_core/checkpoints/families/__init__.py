"""The supported families of models, one file each; new files are found automatically."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from transformer_core.checkpoints.family import Family

_modules = [import_module(f"{__name__}.{submodule.name}") for submodule in iter_modules(__path__)]

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {family.model_type: family for module in _modules for family in module.FAMILIES}
)
