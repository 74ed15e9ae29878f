"""`headlight show`: all heads of a model on a text, as a file that opens in any browser."""

import argparse
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer_core.cli.progress import LoadingProgress
from transformer_core.errors import Message, UnsupportedModelError

if TYPE_CHECKING:  # imports torch
    from transformer_core.text.interface import Tokenizer

_EXAMPLES = """\
examples:
  headlight show checkpoints/en-fr "The cat sleeps."
  headlight show openai-community/gpt2 "The cat sat on the" --tokens 8 --output heads.html
  headlight show out/ckpt.pt "The cat sat on the" --exact

The file needs no network, so that it can be sent or kept. A model that Headlight's core does not compute is run by the
transformers library.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `show` to the commands."""
    parser = commands.add_parser(
        "show",
        help="show all heads of a model on a text in the browser",
        description="Write all heads of a model on a text to an HTML file, and open it in the browser.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "source", metavar="MODEL", help="a checkpoint folder, a model of another program, or an id of the Hub"
    )
    parser.add_argument("text", metavar="TEXT", help="the input; for a model of images or sounds, the path of a file")
    parser.add_argument("--second", metavar="TEXT", help="for an encoder such as BERT: the second text of a pair")
    parser.add_argument("--target", metavar="TEXT", help="for an encoder-decoder: its output (what it generates)")
    parser.add_argument("--tokens", metavar="N", type=int, default=0, help="for a decoder: generate N tokens (0)")
    parser.add_argument("--exact", action="store_true", help="round weights to 1e-5; the file may be larger")
    parser.add_argument("--output", metavar="FILE", type=Path, help="the file (a temporary one, which is opened)")
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="cpu, cuda, cuda:1, mps, or auto (cpu)")
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Write the file, print its path, and open it unless a path was given; return 0."""
    from headlight.notebook.show import show

    model, tokenizer = _loaded(options.source, options.device)
    text = options.text if options.second is None else (options.text, options.second)
    view = show(
        model, tokenizer, text, target=options.target, max_new_tokens=options.tokens, exact=options.exact,
        title=options.source,
    )  # fmt: skip
    place = options.output or Path(tempfile.mkdtemp(prefix="headlight-")) / "heads.html"
    print(view.save(place))
    if options.output is None:
        webbrowser.open(place.resolve().as_uri())
    return 0


def _loaded(source: str, device: str) -> "tuple[Any, Tokenizer]":
    """Return a model and its tokenizer: ours, or one of the transformers library."""
    from headlight.viewing.folder import load_for_viewing, refuse_unviewable, write_viewed
    from transformer_core.checkpoints.load import load
    from transformer_core.checkpoints.location import find

    with LoadingProgress() as progress:
        notes: list[Message] = []
        location = find(source, progress.show, on_unsupported=refuse_unviewable)
        try:
            loaded: tuple[Any, Tokenizer] = load(
                location, device=device, on_progress=progress.show, on_note=notes.append
            )
        except UnsupportedModelError as unsupported:
            if not Path(location.folder).is_dir():
                raise
            with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
                write_viewed(Path(location.folder), Path(folder), str(location.name), unsupported)
                loaded = load_for_viewing(folder, device=device)
    for note in notes:
        print(f"warning: {note}", file=sys.stderr)
    return loaded
