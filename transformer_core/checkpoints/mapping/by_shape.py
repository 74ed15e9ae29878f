"""Our names for the tensors of a model by their shapes, where words do not help."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from transformer_core.checkpoints.mapping.by_word import (
    JOINED,
    is_turned,
    modules_by_word,
    names_by_word,
    side_of,
    stacks_of,
)
from transformer_core.checkpoints.mapping.rules import Shapes

_BIASES = ("bias", "beta", "shift", "b_2")  # ends of the keys of biases of norms

_AFTER_EMBEDDING = ("pos", "wpe", "head", "out")  # parts of the keys of positions and of the output; files are sorted


BY_SHAPE, BY_WORD = "by shape", "by name"


def guesses(shapes: Shapes, only: str) -> dict[str, tuple[str, str]]:
    """Return the right side of a line for each tensor whose words or shape have one usual meaning, and which of both.

    Norms of a layer, and the embedding, positions and output, are distinguished by their order in the file.

    Args:
        shapes: by key, with * for the number of a layer.
        only: "encoder" or "decoder", if the model has one stack.
    """
    layers = {key: tuple(shape) for key, shape in shapes.items() if "*" in key}
    others = {key: tuple(shape) for key, shape in shapes.items() if "*" not in key}
    widths = Counter(shape[-1] for shape in others.values() if len(shape) == 2 or (len(shape) == 3 and shape[0] == 1))
    stacks = stacks_of({key: shape for key, shape in layers.items() if key.count("*") == 1}, only)
    if not widths or not stacks:
        return {}
    width = widths.most_common(1)[0][0]
    names: dict[str, str] = {}
    by_word: dict[str, str] = {}
    for prefix, stack in stacks.items():
        layer, block = {key: shape for key, shape in layers.items() if key.startswith(prefix)}, f"{stack}.blocks.*"
        has_cross = len(stacks) == 2 and stack == "decoder"
        modules = modules_by_word(layer, block, has_cross=has_cross)
        is_transposed = _is_transposed(layer, width, modules)
        words = names_by_word(layer, width, modules, is_transposed=is_transposed)
        by_word |= words
        layer = {key: shape for key, shape in layer.items() if key.count("*") == 1}
        own = words | _matrices(layer, width, block, words, is_transposed=is_transposed)
        own |= _biases(layer, own)
        norms = ("ln1", "ln_cross", "ln2") if has_cross else ("ln1", "ln2")
        names |= own | _norms(layer, width, own, [f"{block}.{norm}" for norm in norms])
        ends = {key: shape for key, shape in others.items() if len(stacks) == 1 or (side_of(key) or "decoder") == stack}
        of_ends = _embeddings(ends, width, stack)
        of_ends |= _biases(ends, of_ends)
        names |= of_ends | _norms(ends, width, of_ends, [f"{stack}.ln_final"])
    return {key: (name, BY_WORD if by_word.get(key) == name else BY_SHAPE) for key, name in names.items()}


def _embeddings(shapes: Shapes, width: int, stack: str) -> dict[str, str]:
    """Return the names of the matrices [n, width] outside of the layers: of the vocabulary, and of positions."""
    tables = {
        key: shape[-2]
        for key, shape in shapes.items()
        if shape[-1:] == (width,) and (len(shape) == 2 or (len(shape) == 3 and shape[0] == 1))
    }
    tables = dict(sorted(tables.items(), key=lambda table: any(part in table[0] for part in _AFTER_EMBEDDING)))
    counts = Counter(tables.values())
    vocab_size = next((n for n, count in counts.items() if count == 2), next(iter(tables.values()), 0))
    words = [key for key, n in tables.items() if n == vocab_size]
    positions = [key for key, n in tables.items() if n != vocab_size]
    names = dict(zip(words, (f"{stack}.embed.weight", "unembed.weight"), strict=False)) if len(words) <= 2 else {}
    return names | ({positions[0]: f"{stack}.pos_embed.table"} if len(positions) == 1 else {})


def _is_transposed(layer: Shapes, width: int, modules: Mapping[str, str]) -> bool:
    """Return whether matrices are [in, out]; arguments as for `names_by_word`."""
    matrices = {key: shape for key, shape in layer.items() if len(shape) == 2}
    by_bias = (first != second and layer.get(_bias_of(key)) == (second,) for key, (first, second) in matrices.items())
    if any(by_bias) or any(is_turned(shape, width, modules[key]) for key, shape in matrices.items() if key in modules):
        return True
    return _is_joined(layer, width, modules.values()) and (width, 3 * width) in matrices.values()


def _is_joined(layer: Shapes, width: int, names: Iterable[str]) -> bool:
    """Return whether queries, keys and values may be one matrix: they are not named, nor are there other squares."""
    parts = ("self_attn.q", "self_attn.v", JOINED)
    return [*layer.values()].count((width, width)) < 2 and not any(part in name for name in names for part in parts)


def _matrices(
    layer: Shapes, width: int, block: str, words: Mapping[str, str], *, is_transposed: bool
) -> dict[str, str]:
    """Return the names of the matrices of a layer: joined queries, keys and values, their output, and the MLP.

    Args:
        layer: its shapes.
        width: of the model.
        block: our name of the layer.
        words: the names of some of its tensors.
        is_transposed: whether matrices are [in, out].
    """
    is_joined = _is_joined(layer, width, words.values())
    named = " ".join(words.values())
    is_complete = ("self_attn.q" in named) == ("self_attn.v" in named)  # otherwise, a square may be one of both
    kinds: dict[str, list[str]] = {}
    for key, shape in layer.items():
        if len(shape) != 2 or key in words:
            continue
        n_out, n_in = reversed(shape) if is_transposed else shape
        names = {
            (n_out, width): "mlp.up",
            (width, n_in): "mlp.down",
            **({(3 * width, width): f"self_attn.{JOINED}"} if is_joined else {}),  # replaces mlp.up
            (width, width): "self_attn.out",  # replaces both
        }
        if (n_out, n_in) in names and (is_complete or n_out != n_in):
            kinds.setdefault(names[n_out, n_in], []).append(key)
    end = ".weight T" if is_transposed else ".weight"
    unique = {keys[0]: f"{block}.{name}{end}" for name, keys in kinds.items() if len(keys) == 1}
    return {key: name for key, name in unique.items() if name not in words.values()}


def _biases(shapes: Shapes, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the biases of named matrices."""
    return {
        bias: f"{name.partition('.weight')[0]}.bias"
        for key, name in names.items()
        if (bias := _bias_of(key)) != key and len(shapes.get(bias, ())) == 1
    }


def _norms(shapes: Shapes, width: int, names: Mapping[str, str], ours: Sequence[str]) -> dict[str, str]:
    """Return the names of the norms, in their order, if there are as many as expected."""
    groups: dict[str, list[str]] = {}
    for key, shape in shapes.items():
        if tuple(shape) == (width,) and key not in names:
            groups.setdefault(key.rpartition(".")[0], []).append(key)
    if len(groups) != len(ours):
        return {}
    return {
        key: f"{name}.{'bias' if key.endswith(_BIASES) else 'weight'}"
        for name, keys in zip(ours, groups.values(), strict=True)
        for key in keys
    }


def _bias_of(key: str) -> str:
    """Return the key of the bias beside a matrix; the key itself if it has another end."""
    return f"{key.removesuffix('weight')}bias" if key.endswith("weight") else key
