"""What can be imported: the families and layouts that the library knows."""

import streamlit as st

from headlight.language import say
from pages.shared import prose


def show() -> None:
    """Draw the list, folded until it is opened."""
    with st.popover(say("What can be imported"), type="tertiary", key="import-formats", on_change="rerun") as folded:
        if not folded.open:
            return
        families, programs = names()
        _listed(say("Models of the transformers library, by their model_type"), families)
        prose.small(
            say("Other text models of transformers can be imported for viewing: attention and predictions only.")
        )
        _listed(say("Checkpoints of other programs, recognized by the names of their weights"), programs)
        prose.small(
            say(
                "Weights as safetensors or as files of torch.save, with a tokenizer or without. Other names of weights "
                "can be described in a mapping. No code of a model is run."
            )
        )


def _listed(title: str, names: list[str]) -> None:
    prose.html("<p class='hl-small'><b>{}</b><br>{}</p>", title, ", ".join(names))


def names() -> tuple[list[str], list[str]]:
    """Return the families of the transformers library, and the programs whose layouts are known."""
    from transformer_core.checkpoints.families import FAMILIES
    from transformer_core.checkpoints.layouts import LAYOUTS

    programs = dict.fromkeys(layout.name for layout in LAYOUTS)
    return sorted(FAMILIES, key=str.lower), sorted(programs, key=str.lower)
