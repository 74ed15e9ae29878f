"""Programs whose heads are known: a small language, its interpreter, and a compiler into a real Transformer.

>>> import transformer_core as tc
>>> program = hl.programs.EXAMPLES["reverse"]
>>> hl.programs.run(program, ["a", "b", "c"])
['c', 'b', 'a']
>>> model, tokenizer = hl.programs.compile(program, vocab=["a", "b", "c"], max_len=5)
>>> hl.programs.roles(model)[2, 0].line
3
"""

from headlight.programs.compiler import compile
from headlight.programs.examples import EXAMPLES, INPUTS
from headlight.programs.interpreter import run
from headlight.programs.program import Program
from headlight.programs.roles import Role, roles

__all__ = ["EXAMPLES", "INPUTS", "Program", "Role", "compile", "roles", "run"]
