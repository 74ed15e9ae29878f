"""A tokenizer from elsewhere made ready for a new model: the special tokens that training needs, and their places."""

from collections.abc import Mapping

from tokenizers import AddedToken, processors

from transformer_core.config import Architecture
from transformer_core.errors import CheckpointError
from transformer_core.text.foreign import ForeignTokenizer

_WRITTEN = {"pad": "<pad>", "bos": "<bos>", "eos": "<eos>", "mask": "<mask>"}  # where the tokenizer has none
# A decoder alone never sees what is on its right, so any token may fill up its rows.
_NEEDED: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("bos", "eos", "pad"),
    "decoder_only": ("bos", "eos"),
    "encoder_only": ("bos", "eos", "pad", "mask"),
}
# As tokenizers that are made here read a text: "$A" is the text, of pairs the source.
_READ: Mapping[Architecture, tuple[str, ...]] = {
    "encoder_decoder": ("$A", "eos"),
    "decoder_only": ("bos", "$A"),
    "encoder_only": ("bos", "$A", "eos"),
}


def for_training(tokenizer: ForeignTokenizer, architecture: Architecture) -> ForeignTokenizer:
    """Return a tokenizer as a new model of some architecture needs it; the given one stays as it is.

    What the training needs and the tokenizer lacks is added after its vocabulary. GPT-2's <|endoftext|> begins and
    ends texts; for pairs it gets a <pad>, for a decoder alone nothing.

    Args:
        tokenizer: as it came.
        architecture: of the model.

    Raises:
        CheckpointError: a token cannot be added, or cannot stand around a text.
    """
    backend, special = tokenizer.parts()
    if special["pad"] in (special["bos"], special["eos"]):  # as padding it would never be attended to
        special["pad"] = None
    n_before = tokenizer.vocab_size
    lacking = [role for role in _NEEDED[architecture] if special[role] is None]
    backend.add_special_tokens([AddedToken(_WRITTEN[role], special=True, normalized=False) for role in lacking])
    special |= {role: backend.token_to_id(_WRITTEN[role]) for role in lacking}
    ids = backend.get_vocab().values()
    if len({*ids}) != len(ids) or max(ids) + 1 > n_before + len(lacking):
        raise CheckpointError(
            "the token ids of this tokenizer are not contiguous, so no tokens can be added; choose another tokenizer"
        )
    around = {role: i for role, i in special.items() if i is not None and role in _READ[architecture]}
    written = {role: backend.id_to_token(i) for role, i in around.items()}
    try:
        framed = processors.TemplateProcessing(
            single=[written.get(part, part) for part in _READ[architecture]],
            special_tokens=[(written[role], i) for role, i in around.items()],
        )
    except ValueError as error:
        raise CheckpointError(
            "the special tokens of this tokenizer cannot mark the start and end of a text; choose another tokenizer"
        ) from error
    cuts_spaces = isinstance(backend.post_processor, processors.ByteLevel)  # from where tokens lie in a text
    backend.post_processor = processors.Sequence([backend.post_processor, framed]) if cuts_spaces else framed
    return ForeignTokenizer(backend, special)
