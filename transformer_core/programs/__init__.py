"""Programs whose heads are known: a small language, its interpreter, and a compiler into a real Transformer.

>>> import transformer_core as tc
>>> program = tc.programs.EXAMPLES["reverse"]
>>> tc.programs.run(program, ["a", "b", "c"])
['c', 'b', 'a']
>>> model, tokenizer = tc.programs.compile(program, vocab=["a", "b", "c"], max_len=5)
>>> tc.programs.roles(model)[2, 0].line
3
"""

from transformer_core.programs.compiler import compile
from transformer_core.programs.examples import EXAMPLES, INPUTS
from transformer_core.programs.interpreter import run
from transformer_core.programs.language import Program
from transformer_core.programs.roles import Role, roles

__all__ = ["EXAMPLES", "INPUTS", "Program", "Role", "compile", "roles", "run"]
