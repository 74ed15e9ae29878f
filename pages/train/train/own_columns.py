"""The columns of an uploaded table: which are read, and whether the first line has their names."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import prose
from pages.train.train.own_texts import OwnText
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import mark
from transformer_core.language import say

_KINDS = {"pairs": mark("Source and target"), "texts": mark("One text")}
_N_SHOWN = 3  # rows, where the columns cannot be guessed

Reading = dict[str, str | int | bool]


def choose(key: str, text: OwnText) -> tuple[Reading, bool, bool] | None:
    """Choose columns; None while some are missing.

    Args:
        key: of the text, for the widgets.
        text: what was taken in.

    Returns:
        The fields of `CorpusReading` that were chosen, whether the text holds pairs, and whether it is a table.

    Raises:
        CorpusError: it cannot be read.
    """
    from transformer_core.corpora.storage.files import table_at
    from transformer_core.corpora.storage.tables import first_rows

    guessed = table_at(text.path)
    if guessed is None:
        return {}, False, False
    reading: dict[str, Any] = {"skip_bad_lines": True} if text.skips_bad_lines else {}
    if guessed.can_have_header:
        has_header = st.checkbox(
            say("The first line has the names of the columns"),
            value=guessed.has_header,
            key=f"train-header-{key}",
            persist_state="session",
        )
        if has_header != guessed.has_header:
            reading["header"] = "yes" if has_header else "no"
            guessed = table_at(text.path, CorpusReading(header=reading["header"])) or guessed
    if not guessed.is_chosen:
        prose.caption(say("Choose the columns to train on. The first rows:"))
        shown = pd.DataFrame(first_rows(guessed, _N_SHOWN), columns=[*guessed.columns])
        st.dataframe(shown, hide_index=True)
    kind = st.segmented_control(
        say("Each row has"),
        [*_KINDS],
        format_func=lambda name: say(_KINDS[name]),
        default="texts" if guessed.text or len(guessed.columns) < 2 else "pairs",
        required=True,
        key=f"train-row-{key}",
        persist_state="session",
    )
    sides = {"text_column": (say("Text"), guessed.text)}
    if kind == "pairs":
        sides = {"source_column": (say("Source"), guessed.source), "target_column": (say("Target"), guessed.target)}
    chosen: dict[str, Any] = {}
    for place, (name, (label, usual)) in zip(st.columns(2), sides.items(), strict=False):
        options = list(dict.fromkeys([*filter(None, [usual]), *guessed.columns]))
        chosen[name] = place.selectbox(
            label,
            options,
            index=0 if usual else None,
            placeholder=say("Choose a column"),
            key=f"train-{name}-{guessed.has_header}-{key}",
            persist_state="session",
        )
    if not all(chosen.values()):
        return None
    if any(chosen[name] != usual for name, (_, usual) in sides.items()):
        reading |= chosen
    return reading, kind == "pairs", True
