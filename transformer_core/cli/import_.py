"""`python -m transformer_core import`: import a model of another program as a checkpoint."""

import argparse
from pathlib import Path

from transformer_core.cli.progress import LoadingProgress
from transformer_core.errors import ArgumentError, CheckpointError, Message
from transformer_core.reasons import reason

_EXAMPLES = """\
examples:
  python -m transformer_core import openai-community/gpt2 checkpoints/gpt2
  python -m transformer_core import Helsinki-NLP/opus-mt-en-fr checkpoints/opus-en-fr
  python -m transformer_core import ~/my-bert checkpoints/my-bert
  python -m transformer_core import ~/nanoGPT/out/ckpt.pt checkpoints/my-gpt
  python -m transformer_core import model.pth checkpoints/my-gpt --set n_heads=12
  python -m transformer_core import mine.pt checkpoints/mine --map mine.txt

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
    parser.add_argument(
        "--map",
        metavar="FILE",
        type=Path,
        help="a mapping that describes weights of an unknown layout; if there is no such file, its draft is written",
    )
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Load the model, save it, and print a summary; return 0."""
    from transformer_core.checkpoints.bring_in import WITHOUT_TOKENIZER, bring_in
    from transformer_core.checkpoints.mapping.draft import draft
    from transformer_core.checkpoints.mapping.rules import MAPPING, option_of
    from transformer_core.checkpoints.nearest import UnknownLayoutError

    given = dict(map(option_of, options.set))
    if options.map is not None and options.map.exists():
        given[MAPPING] = _text_of(options.map)
    try:
        with LoadingProgress() as progress:
            card = bring_in(options.source, options.folder, options=given, on_progress=progress.show)
    except UnknownLayoutError as error:
        if options.map is None:
            raise CheckpointError(
                "{error}. To describe them, add --map mine.txt: the command writes the draft of a mapping there",
                error=error,
            ) from error
        options.map.write_text(f"{draft(error.shapes, error.nearest)}\n", encoding="utf-8")
        print(error)
        print(f"The draft of a mapping is in {options.map}: replace each ? in it, then run the command again.")
        return 1
    print(f"{options.source} is in {options.folder}: {card['kind']}, {card['parameters']:,} parameters")
    if card.get("tokenizer") == "ids":
        print(WITHOUT_TOKENIZER)
    for note in card.get("notes", ()):
        print(Message.from_json(note))
    return 0


def _text_of(path: Path) -> str:
    """Return the content of a text file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError("{path} cannot be read ({error})", path=path, error=reason(error)) from error
