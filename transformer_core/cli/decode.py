"""`python -m transformer_core decode`: print what a model makes of texts."""

import argparse
import sys
from collections.abc import Iterable

from transformer_core.errors import TextError


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `decode` to the commands."""
    parser = commands.add_parser(
        "decode",
        help="print what a model makes of texts",
        description="Print what a model makes of each text, a line each, by greedy decoding.",
        epilog='example:\n  python -m transformer_core decode checkpoints/en-fr "The cat sleeps."',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="a model's folder: a kept one, or last/ of a training")
    parser.add_argument(
        "texts", metavar="TEXT", nargs="+", help="what to decode; - reads lines from the standard input"
    )
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Print one line a text; return 0."""
    import torch

    from transformer_core.decoding.greedy import greedy_decode
    from transformer_core.weights.checkpoint import load

    model, tokenizer = load(options.checkpoint)
    for text in _lines(options.texts):
        if not text.strip():
            raise TextError("the text is empty; give a sentence to decode")
        if unknown := tokenizer.unknown_words(text):
            print(f"warning: the model does not know {', '.join(unknown)}", file=sys.stderr)
        tokens = greedy_decode(model, torch.tensor([tokenizer.encode(text, eos=True)])).tokens[0].tolist()
        if tokens[-1] != tokenizer.eos_id:
            print(f"warning: the output was cut off after {len(tokens) - 1} tokens", file=sys.stderr)
        print(tokenizer.decode(tokens), flush=True)
    return 0


def _lines(texts: Iterable[str]) -> Iterable[str]:
    """Return the texts, with the lines of the standard input in place of "-"; its empty lines are left out."""
    for text in texts:
        if text == "-":
            yield from (line.rstrip("\n") for line in sys.stdin if line.strip())
        else:
            yield text
