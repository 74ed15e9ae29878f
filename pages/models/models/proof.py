"""Lines of Python that run the program of an imported model's weights beside Headlight, and compare all values."""

import streamlit as st

from headlight.language import say
from pages.models import model_store
from pages.shared import models, owners, prose
from pages.shared.models import ModelCard
from transformer_core.config import Architecture, ModelConfig

N_TOKENS = 80  # compared; some errors show only beyond a window, or in large distances
_CLASSES: dict[Architecture, str] = {
    "decoder_only": "AutoModelForCausalLM",
    "encoder_only": "AutoModelForMaskedLM",
    "encoder_decoder": "AutoModelForSeq2SeqLM",
}
_IMPORTED_FROM = """\
import sys

sys.path.append({folder!r})  # the folder of Headlight

"""
_OF_LIBRARY = """\
from transformers import {name}

theirs = {name}.from_pretrained({source!r}, dtype=torch.float32)
"""
_OF_ADAPTER = """\
from peft import PeftModel
from transformers import {name}

base = {name}.from_pretrained({base!r}, dtype=torch.float32)
theirs = PeftModel.from_pretrained(base, {source!r}).merge_and_unload()
"""
_LECTURE = "lecture_gpt"  # some of its options only change the weights
_OF_PROGRAMS = {  # how a program builds its model from its own file, by the model_type of its layout
    "nanogpt": """\
from model import GPT, GPTConfig  # of nanoGPT

theirs = GPT(
    GPTConfig(
        n_layer={c.n_decoder_layers}, n_head={c.n_heads}, n_embd={c.d_model},
        block_size={c.max_seq_len}, vocab_size={c.vocab_size}, bias={c.feed_forward_bias},
    )
)
saved = torch.load({source!r}, map_location="cpu", weights_only=True)
weights = saved.get("model", saved)
theirs.load_state_dict({{key.removeprefix("_orig_mod."): value for key, value in weights.items()}})
""",
    "raschka_gpt": """\
from gpt import GPTModel  # the class of the book

theirs = GPTModel(
    {{
        "vocab_size": {c.vocab_size}, "context_length": {c.max_seq_len}, "emb_dim": {c.d_model},
        "n_heads": {c.n_heads}, "n_layers": {c.n_decoder_layers}, "drop_rate": 0.0, "qkv_bias": False,
    }}
)
saved = torch.load({source!r}, map_location="cpu", weights_only=True)
theirs.load_state_dict(saved.get("model_state_dict", saved))
""",
    _LECTURE: """\
from gpt import GPTLanguageModel  # gpt.py of the lecture without its training loop

theirs = GPTLanguageModel()
saved = torch.load({source!r}, map_location="cpu", weights_only=True)
theirs.load_state_dict(saved.get("model", saved.get("model_state_dict", saved)))
""",
}
_OF_OTHERS = """\
theirs = ...  # your model, with the weights of {source!r}
# If it takes more than tokens, or returns something else first, add run=lambda model, *tokens: ... below.
"""
_PRINTED = """\
{stack}.blocks.0.hook_resid_pre           0.0e+00
{stack}.blocks.0.ln1.hook_normalized      0.0e+00
{stack}.blocks.0.self_attn.q              1.2e-07
{stack}.blocks.0.self_attn.hook_pattern   1.8e-07
...
No difference: at most 2.9e-06 at 42 sites.
"""


def show(card: ModelCard) -> None:
    """Offer the lines for an imported model, folded until they are opened."""
    with st.expander(say("Prove it"), icon=":material/balance:", key="prove", on_change="rerun") as folded:
        if not folded.open:
            return
        values = model_store.whole_card(card.path)
        source = values.get("source")
        name = str(source.get("name", "")) if isinstance(source, dict) else ""
        prose.small(
            say(
                "This code runs the original model and Headlight’s on the same tokens, and prints the largest "
                "difference at each site, in the order of the forward pass."
            )
        )
        code = lines(card.path, name, str(values.get("format", "")), card.config, _base(card.path))
        st.code(code, language="python", wrap_lines=True)
        prose.small(say("Example output:"))
        st.code(_PRINTED.format(stack="encoder" if card.config.has_encoder else "decoder"), language=None)
        prose.small(
            say(
                "If values differ, the last line names the first site where they do. Run the code in the folder of "
                "the original program, with the Python environment of Headlight."
            )
        )


def _base(path: str) -> str:
    """Return the base model of an adapter that was imported; "" for other models."""
    from transformer_core.checkpoints.adapter import MERGED

    notes = (note for note in model_store.import_notes(path) if note.template == MERGED.template)
    return next((str(note.values["base"]) for note in notes), "")


def lines(path: str, source: str, model_format: str, config: ModelConfig, base: str = "") -> str:
    """Return the lines for a model.

    Args:
        path: of its checkpoint.
        source: where it was imported from: a path, an id of the Hub, or the name of an upload.
        model_format: of the source: a model_type of the `transformers` library, or of a layout.
        config: of the model.
        base: path or id of the base model of an adapter; "": it is a whole model.
    """
    from transformer_core.checkpoints.families import FAMILIES
    from transformer_core.checkpoints.mapping.rules import MAPPING

    source = source if "/" in source or "\\" in source else f"path/to/{source}"
    name = _CLASSES[config.architecture] if config.unembed else "AutoModel"
    template = _OF_LIBRARY if model_format in FAMILIES else _OF_PROGRAMS.get(model_format, _OF_OTHERS)
    template = _OF_ADAPTER if base else template
    sizes = [config.input_vocab_size, *([config.vocab_size] if config.architecture == "encoder_decoder" else [])]
    is_elsewhere = owners.is_shared()  # a visitor runs the lines, on another machine
    folder = "path/to/headlight" if is_elsewhere else str(models.APP)
    checkpoint = path if is_elsewhere else str(models.place_of(path))
    n = min(N_TOKENS, config.max_seq_len)
    texts = [f"torch.randint({_ids(size, config.pad_id)}, (1, {n}))" for size in sizes]
    given = f', options=tc.read_card({checkpoint!r}).get("options")' if model_format in (MAPPING, _LECTURE) else ""
    return (
        f"{'' if models.IS_INSTALLED else _IMPORTED_FROM.format(folder=folder)}import torch\n"
        f"{template.format(name=name, source=source, base=base, c=config)}\n"
        "import headlight as hl\n"
        "import transformer_core as tc\n\n"
        f"ours, _ = tc.load({checkpoint!r})\n"
        f"print(hl.compare_models(ours, theirs, {', '.join(texts)}{given}))\n"
    )


def _ids(vocab_size: int, pad_id: int | None) -> str:
    """Return the limits of the ids on the larger side of the padding token, which random texts must not contain."""
    if pad_id is None or pad_id >= vocab_size:
        return f"0, {vocab_size}"
    return f"{pad_id + 1}, {vocab_size}" if pad_id < vocab_size / 2 else f"0, {pad_id}"
