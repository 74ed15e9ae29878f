"""The lines of Python that give what a page shows, to be run at the project's root."""

from pages.shared.models import CPU, PAPER_BASE, PRECISIONS, SHIPPED, ModelCard, at_root, folder
from pages.shared.view.state import View

KEEP = """from pathlib import Path

from transformer_core.figures.offline import offline_page

page = offline_page(figure, title={title!r}, about={text!r})
Path({file!r}).write_text(page, encoding="utf-8")
"""  # draws `figure` into a page that opens without a network


def loading(card: ModelCard, view: View, left_out: range, *more_imports: str) -> list[str]:
    """Return the lines that load the model and give the `ids` of the text, as far as they were read."""
    precision = "" if view.precision == PRECISIONS[0] else f", dtype={view.precision!r}"
    loaded = [f"model, tokenizer = tc.load({card.path!r}{on_device(view)}{precision})"]
    if card.name == PAPER_BASE:
        more_imports = ("from transformer_core.devices import choose_precision", *more_imports)
        more_imports += ("from transformer_core.model.presets import transformer_base",)
        loaded = [
            f"_, tokenizer = tc.load({at_root(folder() / SHIPPED[0])!r})",
            "model = tc.build(transformer_base(tokenizer.vocab_size), seed=0).eval()  # random weights",
            f"model = model.to({view.device!r}, choose_precision({view.precision!r}))",
        ]
    return [
        "import torch",
        "",
        "import transformer_core as tc",
        *more_imports,
        "",
        *loaded,
        *_encoded(view.text, card.config.architecture, left_out),
    ]


def on_device(view: View) -> str:
    """Return what says where tensors are made: nothing on the CPU."""
    return "" if view.device == CPU else f", device={view.device!r}"


def _encoded(text: str, architecture: str, left_out: range, side: str = "") -> list[str]:
    """Return the lines that give the `ids` of a text, as far as they were read."""
    lines = [f"ids = tokenizer{side}.encode_for({text!r}, {architecture!r})"]
    if left_out:
        lines.append(f"del ids[{left_out.start}:{left_out.stop}]  # as much as is read here")
    return lines
