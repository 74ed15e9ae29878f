"""`compile`, which makes a model from a program, and `first-view`, which saves the app's first view of a model."""

import argparse
import random
from pathlib import Path

from transformer_core.errors import CheckpointError, ProgramError

N_EXAMPLES = 4

_COMPILE_EXAMPLES = """\
examples:
  python -m transformer_core compile reverse checkpoints/reverse
  python -m transformer_core compile shift.txt checkpoints/shift --causal --vocab "a b c d" --max-len 12

A program is the name of an example or a file of lines such as
  shifted = aggregate(select(indices, indices, lambda key, query: key == query - 1), tokens, "_")
"""
_VIEW_EXAMPLES = """\
examples:
  python -m transformer_core first-view checkpoints/en-fr

The app shows it as soon as it starts, while it still loads what runs models. It belongs to these weights and to the
first example of the card: when one of them changes, run the command again.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `compile` and `first-view` to the commands."""
    parser = commands.add_parser(
        "compile",
        help="compile a program into a model whose heads have known roles",
        description="Compile a program into a model whose heads have known roles, as a checkpoint that the app opens.",
        epilog=_COMPILE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", metavar="PROGRAM", help="the name of an example, or a file")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the checkpoint is written")
    parser.add_argument("--vocab", help="the tokens that may occur, separated by spaces")
    parser.add_argument("--max-len", type=int, help="tokens of the longest input")
    parser.add_argument("--causal", action="store_true", help="of a file: no query sees a later key (decoder-only)")
    parser.set_defaults(run_command=compile_program)
    parser = commands.add_parser(
        "first-view",
        help="keep what the app shows first of a model beside its checkpoint",
        description="Keep the activations of a model on its first example, which the app shows as soon as it starts.",
        epilog=_VIEW_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a checkpoint folder")
    parser.set_defaults(run_command=write_first_view)


def compile_program(options: argparse.Namespace) -> int:
    """Write the checkpoint, and print which heads each line became; return 0."""
    from headlight.programs import EXAMPLES, INPUTS, Program, compile, roles
    from headlight.programs.checkpoint import save_compiled
    from headlight.programs.compiler import compiled

    name = str(options.program)
    if name in EXAMPLES:
        program = EXAMPLES[name]
    elif Path(name).is_file():
        program = Program(source=Path(name).read_text(encoding="utf-8", errors="replace"), is_causal=options.causal)
    else:
        raise ProgramError(
            "“{name}” is neither an example nor a file; the examples are {names}", name=name, names=", ".join(EXAMPLES)
        )
    vocab = None if options.vocab is None else options.vocab.split()
    model, tokenizer = compile(program, vocab=vocab, max_len=options.max_len)
    origin, rng = compiled(model), random.Random(0)
    is_usual = name in EXAMPLES and (vocab, options.max_len) == (None, None)
    inputs = [
        INPUTS[name](rng) if is_usual else rng.choices(origin.vocab, k=min(origin.max_len, 8))
        for _ in range(N_EXAMPLES)
    ]
    title = Path(name).stem.replace("_", " ").capitalize()
    save_compiled(options.folder, model, tokenizer, title=title, examples=[" ".join(tokens) for tokens in inputs])
    for (layer, head), role in roles(model).items():
        print(f"L{layer}.H{head}  {role.source}")
    print(f"{options.folder}: {sum(parameter.numel() for parameter in model.parameters()):,} parameters")
    return 0


def write_first_view(options: argparse.Namespace) -> int:
    """Write the first view, and print its path; return 0."""
    from headlight.analysis.stage import first_view
    from transformer_core.checkpoints.checkpoint import read_card
    from transformer_core.checkpoints.load import load

    examples = read_card(options.folder).get("examples")
    if not examples:
        raise CheckpointError("{folder} has no example in its card; add one to card.json", folder=options.folder)
    model, tokenizer = load(options.folder)
    path = first_view.capture_and_write(options.folder, model, tokenizer, str(examples[0]))
    print(f"{path}: {path.stat().st_size / 1024:,.0f} KiB")
    return 0
