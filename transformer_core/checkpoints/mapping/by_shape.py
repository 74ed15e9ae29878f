"""Our names for the tensors of one stack of layers by their shapes, where names do not help."""

from collections import Counter
from collections.abc import Mapping, Sequence

from transformer_core.checkpoints.mapping.rules import Shapes

_BIASES = ("bias", "beta", "shift", "b_2")  # ends of the keys of biases of norms

_AFTER_EMBEDDING = ("pos", "head", "out")  # parts of the keys of positions and of the output, as files may be sorted


def names_by_shape(shapes: Shapes, stack: str) -> dict[str, str]:
    """Return the right side of a line for each tensor whose shape has one usual meaning.

    Norms of a layer, and the embedding, positions and output, are told apart by their order in the file.

    Args:
        shapes: by key, with * for the number of a layer.
        stack: "encoder" or "decoder".
    """
    layers = {key: tuple(shape) for key, shape in shapes.items() if key.count("*") == 1}
    others = {key: tuple(shape) for key, shape in shapes.items() if "*" not in key}
    widths = Counter(shape[1] for shape in others.values() if len(shape) == 2)
    if not widths or len({key.partition("*")[0] for key in layers}) != 1:
        return {}
    width = widths.most_common(1)[0][0]
    names = _embeddings(others, width, stack)
    names |= _matrices(layers, width, f"{stack}.blocks.*")
    names |= _biases(shapes, names)
    names |= _norms(layers, width, names, [f"{stack}.blocks.*.ln1", f"{stack}.blocks.*.ln2"])
    return names | _norms(others, width, names, [f"{stack}.ln_final"])


def _embeddings(shapes: Shapes, width: int, stack: str) -> dict[str, str]:
    """Return the names of the matrices [n, width] outside of the layers: of the vocabulary, and of positions."""
    tables = {key: shape[0] for key, shape in shapes.items() if len(shape) == 2 and shape[1] == width}
    tables = dict(sorted(tables.items(), key=lambda table: any(part in table[0] for part in _AFTER_EMBEDDING)))
    counts = Counter(tables.values())
    vocab_size = next((n for n, count in counts.items() if count == 2), next(iter(tables.values()), 0))
    words = [key for key, n in tables.items() if n == vocab_size]
    positions = [key for key, n in tables.items() if n != vocab_size]
    names = dict(zip(words, (f"{stack}.embed.weight", "unembed.weight"), strict=False)) if len(words) <= 2 else {}
    return names | ({positions[0]: f"{stack}.pos_embed.table"} if len(positions) == 1 else {})


def _matrices(shapes: Shapes, width: int, block: str) -> dict[str, str]:
    """Return the names of the matrices of a layer: joined queries, keys and values, their output, and the MLP."""
    matrices = {key: shape for key, shape in shapes.items() if len(shape) == 2}
    biases = {key: shapes.get(_bias_of(key)) for key in matrices}
    turned = (shape[0] != shape[1] and biases[key] == shape[1:] for key, shape in matrices.items())
    is_joined = [*matrices.values()].count((width, width)) < 2  # otherwise, queries have a separate matrix
    is_transposed = any(turned) or (is_joined and (width, 3 * width) in matrices.values())
    kinds: dict[str, list[str]] = {}
    for key, shape in matrices.items():
        n_out, n_in = reversed(shape) if is_transposed else shape
        names = {
            (n_out, width): "mlp.up",
            (width, n_in): "mlp.down",
            **({(3 * width, width): "self_attn.{q,k,v}"} if is_joined else {}),  # replaces mlp.up
            (width, width): "self_attn.out",
        }
        if (n_out, n_in) in names:
            kinds.setdefault(names[n_out, n_in], []).append(key)
    end = ".weight T" if is_transposed else ".weight"
    return {keys[0]: f"{block}.{name}{end}" for name, keys in kinds.items() if len(keys) == 1}


def _biases(shapes: Shapes, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the biases of named matrices."""
    return {
        _bias_of(key): f"{name.partition('.weight')[0]}.bias"
        for key, name in names.items()
        if len(shapes.get(_bias_of(key), ())) == 1
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
