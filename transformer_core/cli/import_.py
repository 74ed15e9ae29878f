"""`python -m transformer_core import`: import a model of another program as a checkpoint."""

import argparse
import json
from pathlib import Path
from typing import Any

from transformer_core.cli.progress import LoadingProgress
from transformer_core.errors import ArgumentError, Message

_EXAMPLES = """\
examples:
  python -m transformer_core import openai-community/gpt2 checkpoints/gpt2
  python -m transformer_core import Helsinki-NLP/opus-mt-en-fr checkpoints/opus-en-fr
  python -m transformer_core import ~/my-bert checkpoints/my-bert
  python -m transformer_core import ~/nanoGPT/out/ckpt.pt checkpoints/my-gpt
  python -m transformer_core import model.pth checkpoints/my-gpt --set n_heads=12

A model of the Hugging Face Hub is downloaded: configuration, weights in safetensors files, and tokenizer; its code is
never run. Files of torch.save (ckpt.pt of nanoGPT, pytorch_model.bin, a state dict next to a config.json) are read by
torch's allow-list of tensors and plain values. The app lists the models in checkpoints/.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `import` to the commands."""
    parser = commands.add_parser(
        "import",
        help="import a model of another program as a checkpoint",
        description="Import a model of another program as a checkpoint.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", metavar="SOURCE", help="a Hugging Face folder, a file of weights, or an id of the Hub: owner/name"
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the new checkpoint; an existing one is replaced")
    parser.add_argument(
        "--set",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help="an option that the files of the model do not determine, such as n_heads=12; may be repeated",
    )
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Load the model, save it, and print a summary; return 0."""
    from transformer_core.checkpoints.bring_in import bring_in

    with LoadingProgress() as progress:
        card = bring_in(
            options.source,
            options.folder,
            options=dict(map(_option, options.set)),
            on_progress=progress.show,
        )
    print(f"{options.source} is in {options.folder}: {card['kind']}, {card['parameters']:,} parameters")
    for note in card.get("notes", ()):
        print(Message.from_json(note))
    return 0


def _option(written: str) -> tuple[str, Any]:
    """Return the name and the value of OPTION=VALUE: a value of JSON, or a text."""
    name, sign, value = written.partition("=")
    if not sign:
        raise ArgumentError("--set takes OPTION=VALUE, such as n_heads=12; got {written!r}", written=written)
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value.strip()
