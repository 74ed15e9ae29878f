"""The tokens of all texts of a corpus, end to end: encoded once, cached, and read from the disk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from itertools import accumulate, chain
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.file_items import FileItems, RunningText, texts_of
from transformer_core.corpora.storage.kept_arrays import Sink, arrays_in_memory, kept_arrays
from transformer_core.corpora.storage.kept_items import KeptItems
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer

OnProgress = Callable[[int, int], None]
"""Called with the number of finished items, and the total."""

_TOGETHER = 2**17  # characters encoded at a time; a token takes some 250 bytes meanwhile
_WORTH_KEEPING = 2**17  # characters of text; less is encoded in a few tenths of a second
_VERSION = "3"  # of the contents of a store


class TokenStore:
    """Texts as tokens end to end, each as <bos>, text, <eos>; a running text has no <bos> and <eos>.

    Args:
        tokens: of all texts.
        starts: of each text in `tokens`, and the end of the last one.
    """

    def __init__(self, tokens: NDArray[Any], starts: NDArray[np.int64]) -> None:
        self.tokens = tokens
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return the number of tokens of some texts, including <bos> and <eos>."""
        return (self.starts[1:][rows] - self.starts[:-1][rows]).astype(np.int64)

    def padded(self, starts: NDArray[np.int64], lengths: NDArray[np.int64], padding: int) -> Int[Tensor, "batch pos"]:
        """Return spans of `tokens` as one matrix, padded on the right."""
        pos = np.arange(lengths.max())
        places = np.minimum(starts[:, None] + pos, len(self.tokens) - 1)  # batch pos
        rows = np.where(pos < lengths[:, None], self.tokens[places].astype(np.int64), padding)
        return torch.from_numpy(rows)


def tokenize(
    items: Sequence[Pair] | Sequence[Text], tokenizer: Tokenizer, *, on_progress: OnProgress | None = None
) -> TokenStore:
    """Return the tokens of texts; of pairs, those of each source and then of its target.

    Those of large corpora are cached under a fingerprint of the texts and of the tokenizer.

    Args:
        items: the texts, in memory or in files.
        tokenizer: encodes them.
        on_progress: called with the numbers of encoded items and of all; not called if the tokens are cached.

    Raises:
        CorpusError: the tokenizer has no <bos> or <eos>; or the tokens do not fit into memory, and the cache folder
            cannot be written.
    """
    bos_id, eos_id = special_token(tokenizer.bos_id, "<bos>"), special_token(tokenizer.eos_id, "<eos>")
    is_running = isinstance(items, RunningText)
    begin, end = ([], []) if is_running else ([bos_id], [eos_id])

    def fill(sinks: Mapping[str, Sink]) -> None:
        n_items, n_tokens = 0, 0
        sinks["starts"].append(np.zeros(1, np.int64))
        for texts, n_new in _blocks(items):
            rows = [[*begin, *tokens, *end] for tokens in tokenizer.encode_batch(texts)]
            ends = n_tokens + np.cumsum(np.fromiter(map(len, rows), np.int64, count=len(rows)))
            sinks["tokens"].append(np.fromiter(chain.from_iterable(rows), np.int64, int(ends[-1]) - n_tokens))
            n_items, n_tokens = n_items + n_new, int(ends[-1])
            sinks["starts"].append(ends)
            if on_progress is not None:
                on_progress(n_items, len(items))

    dtypes = {
        "tokens": np.dtype(np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32),
        "starts": np.dtype(np.int64),
    }
    if _is_worth_keeping(items):
        made_from = [_VERSION, version("tokenizers"), str(is_running), _fingerprint(items)]
        made_from += [fingerprint_of_tokenizer(tokenizer)]
        arrays = kept_arrays("tokens", made_from, dtypes, fill)
    else:
        arrays = arrays_in_memory(dtypes, fill)
    return TokenStore(**arrays)


def special_token(token: int | None, name: Literal["<pad>", "<bos>", "<eos>", "<mask>"]) -> int:
    """Return a token that batches require.

    Raises:
        CorpusError: the tokenizer has no such token.
    """
    if token is None:
        raise CorpusError(
            "this tokenizer has no {token} token, which training needs; choose another tokenizer", token=name
        )
    return token


def _blocks(items: Sequence[Pair] | Sequence[Text]) -> Iterator[tuple[list[str], int]]:
    """Yield some texts at a time, and their number of items."""
    texts: list[str] = []
    n_items, n_characters = 0, 0
    for of_item in texts_of(items):
        texts += of_item
        n_items, n_characters = n_items + 1, n_characters + sum(map(len, of_item))
        if n_characters >= _TOGETHER:
            yield texts, n_items
            texts, n_items, n_characters = [], 0, 0
    if texts:
        yield texts, n_items


def _is_worth_keeping(items: Iterable[Pair | Text]) -> bool:
    if isinstance(items, FileItems | KeptItems) and items.fingerprint:
        return items.n_bytes >= _WORTH_KEEPING
    n_characters = accumulate(len(text) for item in items for text in item.texts)
    return any(n >= _WORTH_KEEPING for n in n_characters)


def _fingerprint(items: Sequence[Pair] | Sequence[Text]) -> str:
    """Return the known fingerprint of texts, or a hash of them."""
    if isinstance(items, FileItems | KeptItems) and items.fingerprint:
        return items.fingerprint
    digest = blake2b(digest_size=32)
    for item in items:
        for text in item.texts:
            digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def fingerprint_of_tokenizer(tokenizer: Tokenizer) -> str:
    """Return the fingerprint of a saved tokenizer, 64 hexadecimal digits."""
    return blake2b(tokenizer.to_json().encode(), digest_size=32).hexdigest()
