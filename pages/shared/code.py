"""The lines of Python that give what a page shows, to be run at the project's root."""

from typing import TYPE_CHECKING

from pages.shared.models import CPU, PAPER_BASE, PRECISIONS, SHIPPED, ModelCard, at_root, folder
from pages.shared.view.state import View

if TYPE_CHECKING:
    from transformer_core.analysis import ModelRun

INPUTS = {  # what the model is called with, once `opening` has run
    "encoder_decoder": "src, tokens[:, :-1]",
    "decoder_only": "tokens",
    "encoder_only": "tokens",
}
KEEP = """from pathlib import Path

from transformer_core.figures.offline import offline_page

page = offline_page(figure, title={title!r}, about={text!r})
Path({file!r}).write_text(page, encoding="utf-8")
"""  # draws `figure` into a page that opens without a network


def run(card: ModelCard) -> str:
    """Return what the model is called by: without a last layer it has final states only."""
    return "model" if card.config.unembed else "model.final_states"


def opening(card: ModelCard, view: View, model_run: "ModelRun") -> str:
    """Return the lines that load the model, read the text and let the model answer.

    They define `model`, `tokenizer` and what `INPUTS` names: tensors [batch, pos] of one text.
    """
    device = on_device(view)
    lines = loading(card, view, model_run.left_out)
    n_written = len(model_run.target) - model_run.n_given + model_run.is_complete
    if model_run.architecture == "encoder_only" or (model_run.architecture == "decoder_only" and not n_written):
        lines.append(f"tokens = torch.tensor([ids]{device})")
    elif model_run.architecture == "decoder_only":
        lines += [
            f"prompt = torch.tensor([ids]{device})",
            f"tokens = tc.greedy_decode(model, prompt, max_new_tokens={n_written}).tokens  # the prompt first",
            *(["tokens = tokens[:, :-1]  # without <eos>"] if model_run.is_complete else []),
        ]
    elif view.target is None:
        n_new = len(model_run.target)
        lines += [
            f"src = torch.tensor([ids]{device})",
            f"tokens = tc.greedy_decode(model, src, max_new_tokens={n_new}).tokens  # what it begins with first",
        ]
    else:
        lines += [
            f"src = torch.tensor([ids]{device})",
            *_encoded(view.target, model_run.architecture, model_run.target_left_out, side=".target"),
            f"tokens = torch.tensor([[model.config.bos_id, *ids]]{device})",
        ]
    return "\n".join(lines) + "\n"


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
