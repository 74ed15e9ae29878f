"""One model in detail: its parameters, its configuration, its tokens and its card."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from headlight.language import localized, percent, say, say_message
from pages.models import model_store
from pages.shared import cache, models, prose
from pages.shared.glossary.links import definitions
from pages.shared.models import ModelCard
from pages.shared.view import state
from transformer_core.devices import in_words
from transformer_core.errors import HeadlightError, Message, mark
from transformer_core.text.interface import Given, Tokenizer
from transformer_core.text.load import load_tokenizer

MAX_TOKENS_SHOWN = 1_000  # at once; all are searched
STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder"), "both": mark("both"), "": mark("end")}
_KINDS = {  # of tokenizers
    "word": mark("one per word"),
    "character": mark("one per character"),
    "byte_bpe": mark("byte-level BPE"),
    "ids": mark("token ids, because the model came without a tokenizer"),
}
_ROLES = {
    "pad": mark("padding"),
    "bos": mark("begin of sequence"),
    "eos": mark("end of sequence"),
    "unk": mark("unknown"),
    "mask": mark("mask"),
}


@st.fragment
def show(card: ModelCard) -> None:
    """Draw the open tab; one that cannot be drawn shows the reason."""
    parts: tuple[Callable[[ModelCard], None], ...] = (_tokens, _card)
    key = f"models-tabs-{card.name}"
    if card.medium:
        parts = (_card,)
        tabs = st.tabs([say("Card")], key=key, on_change="rerun")
    elif card.is_viewed:
        tabs = st.tabs([say("Tokenizer"), say("Card")], key=key, on_change="rerun")
    else:
        parts = (_parameters, _configuration, *parts)
        tabs = st.tabs(
            [say("Parameters"), say("Configuration"), say("Tokenizer"), say("Card")], key=key, on_change="rerun"
        )
    for tab, draw in zip(tabs, parts, strict=True):
        if tab.open:
            with tab:
                try:
                    draw(card)
                except HeadlightError as error:
                    prose.warning(say("This cannot be shown: {error}.", error=error))


def parameters_of(card: ModelCard) -> list[tuple[str, str, int, float]]:
    """Return the stack, the name, the number of parameters and the share of the total of each part."""
    from headlight.figures.architecture.inventory import parameters_by_part

    counts = parameters_by_part(card.config)
    total = sum(counts.values())
    return [(say(STACKS[stack]), say(part), n, n / total) for (stack, part), n in counts.items()]


def configuration_of(card: ModelCard) -> list[tuple[str, str, str]]:
    """Return the name, the value and the meaning of every setting that shapes the model."""
    from headlight.figures.architecture.inventory import settings

    return [
        (name, say_message(value) if isinstance(value, Message) else value, say_message(meaning))
        for name, value, meaning in settings(card.config)
    ]


def tokens_of(card: ModelCard, text: Given) -> list[tuple[str, int]]:
    """Return a text as the model reads it: each token's label and number.

    Raises:
        HeadlightError: the tokenizer is damaged, or cannot read the text.
    """
    tokenizer, architecture = tokenizer_of(card.path, card.version), card.config.architecture
    labels = tokenizer.labels_for(text, architecture)
    return list(zip(labels, tokenizer.encode_for(text, architecture), strict=True))


def token_table(card: ModelCard, wanted: str = "") -> tuple[pd.DataFrame, int]:
    """Return the first `MAX_TOKENS_SHOWN` tokens that contain a text, or have it as their id, and how many there are.

    Raises:
        HeadlightError: the tokenizer is damaged.
    """
    with st.spinner(say("Reading the tokens …")):
        table = _all_tokens(card.path, card.version)
    table = table.assign(role=[", ".join(map(say, role.split(", "))) for role in table["role"]])
    if "side" in table:
        table = table.assign(side=[*map(say, table["side"])])
    if wanted := wanted.strip():
        part = wanted.replace(" ", "·").lower()
        table = table[
            table["token"].str.lower().str.contains(part, regex=False) | (table["number"].astype(str) == wanted)
        ]
    return table.head(MAX_TOKENS_SHOWN), len(table)


@cache.by_arguments(mark("tokenizers"))
def tokenizer_of(path: str, version: str) -> Any:
    """Load a tokenizer without its model; the version is that of the folder's files."""
    from transformer_core.checkpoints.checkpoint import TOKENIZER, existing, reading_folder

    return reading_folder(models.place_of(path), lambda place: load_tokenizer(existing(place, TOKENIZER)))


@cache.by_arguments(mark("tables of tokens"))
def _all_tokens(path: str, version: str) -> pd.DataFrame:
    """Return every token: its number, label and purpose."""
    tokenizer = tokenizer_of(path, version)
    if tokenizer.target.vocab_size == tokenizer.vocab_size:
        return _tokens_of_one(tokenizer)
    sides = {mark("source"): tokenizer, mark("target"): tokenizer.target}
    return pd.concat([_tokens_of_one(one).assign(side=side) for side, one in sides.items()])


def _tokens_of_one(tokenizer: Tokenizer) -> pd.DataFrame:
    roles = dict[int, str]()
    for role, meaning in _ROLES.items():
        if (i := getattr(tokenizer, f"{role}_id")) is not None:
            roles[i] = f"{roles[i]}, {meaning}" if i in roles else meaning
    numbers = range(tokenizer.vocab_size)
    labels = [tokenizer.labels([i])[0] for i in numbers]
    return pd.DataFrame({"number": numbers, "token": labels, "role": [roles.get(i, "") for i in numbers]})


def _parameters(card: ModelCard) -> None:
    view = state.current()
    models.load(card.path, card.version, view.device, view.precision)  # makes sure that the model is loaded
    rows = parameters_of(card)
    facts = say(
        "{n:,} parameters, {size} on disk. Shared parameters are counted once.",
        n=sum(n for _, _, n, _ in rows),
        size=in_words(model_store.n_bytes(card)),
    )
    prose.paragraph(facts)
    cells = ((stack, part, localized(n), percent(share, 1)) for stack, part, n, share in rows)
    lines = prose.each("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", cells)
    heads = (say("stack"), say("part"), say("parameters"), say("share"))
    prose.html("{}", prose.table(heads, lines, "hl-model-table hl-model-parameters"))


def _configuration(card: ModelCard) -> None:
    about = say(
        "This model’s configuration, without settings of parts it does not have. Sections, equations and tables refer "
        "to “Attention Is All You Need”."
    )
    terms = definitions("encoder-decoder", "pre-norm", "positional-encoding", "grouped-query-attention")
    prose.paragraph(about, terms)
    lines = prose.each("<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>", configuration_of(card))
    prose.html("{}", prose.table((say("setting"), say("value"), say("meaning")), lines, "hl-model-table"))


def _tokens(card: ModelCard) -> None:
    """Draw how the model tokenizes the text, and its whole vocabulary."""
    text, tokenizer = state.current().text, tokenizer_of(card.path, card.version)
    kind = say(_KINDS.get(tokenizer.kind, mark("as in training")))
    n, n_target = tokenizer.vocab_size, tokenizer.target.vocab_size
    size = say("{n:,} tokens, {kind}.", n=n, kind=kind)
    if n != n_target:
        size = say(
            "{n:,} tokens of the source and {n_target:,} of the target, {kind}.", n=n, n_target=n_target, kind=kind
        )
    prose.html(
        "<p class='hl-look'>{} {}</p>{}",
        size,
        say("Your text as the model reads it:"),
        prose.tokens(tokens_of(card, text) if text else []),
    )
    wanted = st.text_input(say("Find a token"), placeholder=say("part of it, or its id"))
    table, n_found = token_table(card, wanted)
    st.dataframe(
        table,
        hide_index=True,
        height=360,
        column_config={
            "number": st.column_config.NumberColumn(say("number"), width="small"),
            "token": say("token"),
            "role": say("role"),
            "side": say("vocabulary"),
        },
    )
    if n_found > len(table):
        prose.caption(say("The first {n:,} of {n_found:,} tokens.", n=len(table), n_found=n_found))


def _card(card: ModelCard) -> None:
    values = model_store.whole_card(card.path)
    command = values.get("trained", {}).get("command") if isinstance(values.get("trained"), dict) else None
    if isinstance(command, str):
        prose.paragraph(say("Command to reproduce it:"))
        st.code(command, language="bash", wrap_lines=True)
    st.json(values, expanded=1)
