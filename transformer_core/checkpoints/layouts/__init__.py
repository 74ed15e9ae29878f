"""The layouts of checkpoints without a config.json, one file each; new files are found automatically."""

from importlib import import_module
from pkgutil import iter_modules

from transformer_core.checkpoints.layout import Layout

_modules = [import_module(f"{__name__}.{submodule.name}") for submodule in iter_modules(__path__)]

LAYOUTS: tuple[Layout, ...] = tuple(layout for module in _modules for layout in module.LAYOUTS)
