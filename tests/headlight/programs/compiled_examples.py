"""The example programs as models, each compiled once."""

from functools import cache

import transformer_core as tc
from headlight.programs import EXAMPLES
from headlight.programs import compile as compile_program
from transformer_core.text.tokenizer import Tokenizer


@cache
def example(name: str) -> tuple[tc.Transformer, Tokenizer]:
    """The model of an example, which no test changes, and its tokenizer."""
    return compile_program(EXAMPLES[name])
