"""github.com/hkproj/pytorch-transformer: pre-norm, like The Annotated Transformer; its tokenizers are JSON files."""

import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from torch import Tensor

from transformer_core.checkpoints.layout import Description, SavedModel
from transformer_core.checkpoints.paper_names import PaperNames
from transformer_core.errors import CheckpointError, Message
from transformer_core.text.separate import SeparateTokenizers
from transformer_core.text.word_vocabularies import framed

NAMES = PaperNames(
    program="github.com/hkproj/pytorch-transformer",
    self_attn=("self_attention_block", "self_attention_block"),
    cross_attn="cross_attention_block",
    projections=("w_q", "w_k", "w_v", "w_o"),
    feed_forward=("feed_forward_block.linear_1", "feed_forward_block.linear_2"),
    norms=(
        ("residual_connections.0.norm", "residual_connections.1.norm"),
        ("residual_connections.0.norm", "residual_connections.1.norm", "residual_connections.2.norm"),
    ),
    norm_parts=("alpha", "bias"),
    final_norm="{stack}.norm",
    embeddings=("src_embed.embedding", "tgt_embed.embedding"),
    positions=("src_pos.pe", "tgt_pos.pe"),
    output="projection_layer.proj",
    has_sample_deviation=True,
    special={"pad": 1, "bos": 2, "eos": 3},
    fields={"norm_position": "pre", "layer_norm_eps": 1e-12},
)
_SPECIAL = ("[UNK]", "[PAD]", "[SOS]", "[EOS]")  # tokens 0 to 3 of both vocabularies
_USUAL_SOURCE = "en"  # in its config.py
_MOST_CHARACTERS = 2**16  # of config.py, which is read, not run
_LANG_SRC = re.compile(r"""["']lang_src["']\s*:\s*["'](\w+)["']""")
_UNUSED = Message(
    "Its tokenizers in {names} are not used, as they are not two with {src} tokens for the source and {tgt} for the "
    "target."
)
_BY_NAME = Message(
    "Its two vocabularies have the same size: {source} is read as the source's and {target} as the target's; if yours "
    "are the other way around, exchange the names of these files."
)
_MOST_BYTES = 2**26  # of a tokenizer's file; a vocabulary of a million words would take half of this


def describe(saved: SavedModel, given: Mapping[str, Any]) -> Description:
    """Return the description of a model.

    Source: the repository; until 2023-09-13 a normalization had one gain for all features.
    """
    tokenizer, notes = _tokenizers(saved.folder, saved.weights)
    described = NAMES.describe(saved, given, tokenizer=tokenizer)
    d_model = described.fields["d_model"]
    widened = {
        key: saved.weights[key].expand(d_model)
        for key in saved.weights
        if key.endswith((".norm.alpha", ".norm.bias")) and saved.weights[key].shape == (1,)
    }
    weights = ChainMap(widened, saved.weights)  # type: ignore[arg-type]  # nothing is written to it
    return replace(described, weights=weights, notes=[*described.notes, *notes])


def _tokenizers(folder: Path, weights: Mapping[str, Tensor]) -> tuple[SeparateTokenizers | None, list[Message]]:
    """Return the tokenizers in tokenizer_en.json, tokenizer_it.json, ..., and notes; None if they do not fit.

    The program writes them into the folder above that of its weights. Between vocabularies of the same size, the
    source is the "lang_src" in the program's config.py; without that file, English, its default, or the first name.

    Raises:
        CheckpointError: one of them is damaged.
    """
    paths = sorted(folder.glob("tokenizer_*.json")) or sorted(folder.absolute().parent.glob("tokenizer_*.json"))
    if not paths:
        return None, []
    expected = [weights[f"{name}.weight"].shape[0] for name in NAMES.embeddings]
    backends = [_read(path) for path in paths] if len(paths) == 2 else []
    sizes = [backend.get_vocab_size() for backend in backends]
    if expected not in (sizes, sizes[::-1]):
        files, (src, tgt) = ", ".join(path.name for path in paths[:3]), expected
        return None, [Message(_UNUSED, names=files, src=src, tgt=tgt)]
    notes: list[Message] = []
    is_reversed = expected != sizes
    if sizes == sizes[::-1]:
        names = [path.stem.removeprefix("tokenizer_") for path in paths]
        written = _source_language(paths[0].parent) or _source_language(folder)
        is_reversed = names[1] == (written if written in names else _USUAL_SOURCE)
        source, target = paths[::-1] if is_reversed else paths
        notes = [] if written in names else [Message(_BY_NAME, source=source.name, target=target.name)]
    of_source, of_target = backends[::-1] if is_reversed else backends
    sides = framed(of_source, NAMES.special, begins=True), framed(of_target, NAMES.special, begins=False)
    return SeparateTokenizers(*sides), notes


def _source_language(folder: Path) -> str:
    """Return the "lang_src" that the text of the program's config.py contains; "" if there is none."""
    try:
        with (folder / "config.py").open(encoding="utf-8-sig") as file:
            written = _LANG_SRC.search(file.read(_MOST_CHARACTERS))
    except (OSError, UnicodeDecodeError):
        return ""
    return written[1] if written else ""


def _read(path: Path) -> Backend:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError("too large")
        backend = Backend.from_str(path.read_text(encoding="utf-8-sig"))
        if [backend.token_to_id(token) for token in _SPECIAL] != [*range(len(_SPECIAL))]:
            raise ValueError("other special tokens")
        return backend
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(
            "{path} is damaged, or is not a tokenizer of this program; copy it again, or remove it to type token ids",
            path=path,
        ) from error


LAYOUTS = (NAMES.layout("hkproj_transformer", describe),)
