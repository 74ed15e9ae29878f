# The public names, each with its module: `lazy_loader` imports a module when one of its names is first used.
from . import programs as programs
