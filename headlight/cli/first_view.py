"""`python -m transformer_core first-view`: keep what the app shows first of a model beside its checkpoint."""

import argparse
from pathlib import Path

from transformer_core.errors import CheckpointError

_EXAMPLES = """\
examples:
  python -m transformer_core first-view checkpoints/en-fr

The app shows it as soon as it starts, while it still loads what runs models. It belongs to these weights and to the
first example of the card: when one of them changes, run the command again.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `first-view` to the commands."""
    parser = commands.add_parser(
        "first-view",
        help="keep what the app shows first of a model beside its checkpoint",
        description="Keep the activations of a model on its first example, which the app shows as soon as it starts.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="a checkpoint folder")
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Write the first view, and say where it is; return 0."""
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
