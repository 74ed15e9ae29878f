"""Our names for the tensors of a layer by words of their keys that most programs use, where their shapes agree."""

import re
from collections.abc import Mapping, Sequence

from transformer_core.checkpoints.mapping.rules import Shapes

JOINED = "{q,k,v}"
_INTO_RESIDUAL = ("out", "down")
_IDLE = frozenset(("to", "proj", "projection", "linear", "lin", "fc", "layer", "attn", "self", "cross", "w"))
_WORDS = {
    **dict.fromkeys(("q", "wq", "query", "queries"), "q"),
    **dict.fromkeys(("k", "wk", "key", "keys"), "k"),
    **dict.fromkeys(("v", "wv", "value", "values"), "v"),
    **dict.fromkeys(("o", "wo", "out", "output"), "out"),
    **dict.fromkeys(("qkv", "wqkv"), JOINED),
    **{"gate": "gate", "up": "up", "down": "down"},
}
_CROSS = re.compile(r"cross|(?<![a-z])(src|enc|mem|inter(?!mediate))", re.IGNORECASE)  # of attention on a source
_FEED_FORWARD = re.compile(r"ff|mlp|feed", re.IGNORECASE)


def modules_by_word(layer: Shapes, block: str, *, has_cross: bool) -> dict[str, str]:
    """Return our modules for the keys of a layer that have such words.

    Args:
        layer: shapes by key, with * for the number of the layer, and maybe of a head.
        block: our name of the layer.
        has_cross: whether the layer may have cross-attention.
    """
    return {key: module for key in layer if (module := _module(key, block, has_cross)) is not None}


def names_by_word(layer: Shapes, width: int, modules: Mapping[str, str], *, is_transposed: bool) -> dict[str, str]:
    """Return our names for the tensors of a layer whose shapes agree with their words.

    Args:
        layer: as for `modules_by_word`.
        width: of the model.
        modules: as from `modules_by_word`.
        is_transposed: whether matrices are [in, out].
    """
    names: dict[str, str] = {}
    for key, module in modules.items():
        is_bias = _is_bias(key)
        end = ".bias" if is_bias else ".weight T" if is_transposed else ".weight"
        if _agrees(layer[key], width, module, is_bias=is_bias, is_transposed=is_transposed):
            names[key] = f"{module}{end}"
    unique = [*names.values()]
    return {key: name for key, name in names.items() if unique.count(name) == 1}


def is_turned(shape: Sequence[int], width: int, module: str) -> bool:
    """Return whether a matrix can only be [in, out]."""
    if len(shape) != 2 or shape[0] == shape[1]:
        return False
    n_out, n_in = shape
    of_model, other = (n_out, n_in) if module.endswith(_INTO_RESIDUAL) else (n_in, n_out)
    return other == width != of_model


def stacks_of(layers: Shapes, only: str) -> Mapping[str, str]:
    """Return "encoder" or "decoder" for the beginning of the keys of each stack of layers; {} if it is not certain.

    Args:
        layers: shapes by key, with * for the number of a layer.
        only: of the two, if there is one stack.
    """
    n_keys: dict[str, int] = {}
    for key in layers:
        prefix = key.partition("*")[0]
        n_keys[prefix] = n_keys.get(prefix, 0) + 1
    if len(n_keys) == 1:
        return dict.fromkeys(n_keys, only)
    if len(n_keys) != 2:
        return {}
    by_word = {prefix: side for prefix in n_keys if (side := side_of(prefix))}
    if sorted(by_word.values()) == ["decoder", "encoder"]:
        return by_word
    encoder, decoder = sorted(n_keys, key=n_keys.__getitem__)
    layer = {key: shape for key, shape in layers.items() if key.startswith(decoder)}
    return {encoder: "encoder", decoder: "decoder"} if _attends_to_source(layer) else {}


def side_of(key: str) -> str:
    """Return "encoder" or "decoder" for a key with a word of one of the two; "" otherwise."""
    words = {"encoder": r"(?<![a-z])(enc|src|source)", "decoder": r"(?<![a-z])(dec|tgt|trg|target)"}
    sides = [side for side, pattern in words.items() if re.search(pattern, key.lower())]
    return sides[0] if len(sides) == 1 else ""


def _attends_to_source(layer: Shapes) -> bool:
    """Return whether a layer has keys that name cross-attention."""
    return any(_CROSS.search(key.partition("*")[2]) and _word(key) == "q" for key in layer)


def _module(key: str, block: str, has_cross: bool) -> str | None:
    """Return our module for a key; None if no word says which."""
    word = _word(key)
    if word in ("gate", "up", "down"):
        return f"{block}.mlp.{word}"
    path = key.partition("*")[2]
    if word is None or _FEED_FORWARD.search(path):
        return None
    is_cross = has_cross and _CROSS.search(path) is not None
    return f"{block}.{'cross_attn' if is_cross else 'self_attn'}.{word}"


def _word(key: str) -> str | None:
    """Return our name for the last word of a key, apart from words that do not tell parts apart."""
    path = re.sub(r"(\.weight|\.bias|_w|_b|\.w|\.b)$", "", key).rpartition(".")[2]
    words = [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path).lower().split("_") if word not in _IDLE]
    return _WORDS.get(words[0]) if len(words) == 1 else None


def _is_bias(key: str) -> bool:
    return key.endswith(("bias", "_b", ".b"))


def _agrees(shape: Sequence[int], width: int, module: str, *, is_bias: bool, is_transposed: bool) -> bool:
    """Return whether a tensor's shape may be that of a module of ours."""
    is_joined = module.endswith(JOINED)
    if is_joined and len(shape) == (2 if is_bias else 3):  # a stack
        return shape[0] == 3 and shape[-1] == width
    if is_bias:
        return len(shape) == 1 and not (is_joined and shape[0] != 3 * width)
    if len(shape) != 2:
        return False
    n_out, n_in = reversed(shape) if is_transposed else shape
    if is_joined or module.endswith("out"):
        return (n_out, n_in) == (3 * width if is_joined else width, width)
    return width == (n_out if module.endswith("down") else n_in)
