"""Random continuations, against a naive loop that reads everything again for each token."""

from zlib import crc32

import torch

from headlight.analysis.training.samples import continuation
from tests.model.building import DECODER, odd_config
from transformer_core.decoding.greedy import greedy_decode
from transformer_core.decoding.sampling import draw
from transformer_core.model.transformer import Transformer, build
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer

TEXTS = ("the cat sees the dog", "a bird sings")


def random_decoder(tokenizer: OwnTokenizer, *, max_seq_len: int = 64) -> Transformer:
    return build(odd_config(vocab_size=tokenizer.vocab_size, max_seq_len=max_seq_len, **DECODER), seed=0).eval()


def naive(model: Transformer, ids: list[int], n_new: int, seed: int) -> list[int]:
    tokens = [*ids]
    for _ in range(n_new):
        with torch.no_grad():
            logits = model(torch.tensor([tokens]))[0, -1] / 0.8
        logits[model.config.pad_id] = -torch.inf
        tokens.append(draw(logits.log_softmax(-1), seed=seed, position=len(tokens)))
        if tokens[-1] == model.config.eos_id:
            break
    return tokens


def test_a_continuation_is_drawn_and_the_same_each_time():
    tokenizer = train_tokenizer(TEXTS, kind="character")
    model = random_decoder(tokenizer)
    ids = tokenizer.encode("the c", bos=True)
    actual = continuation(model, tokenizer, "the c")
    assert actual == continuation(model, tokenizer, "the c")
    assert actual == tokenizer.continuation(naive(model, ids, 58, crc32(b"the c")), len(ids))
    assert actual != tokenizer.decode(greedy_decode(model, torch.tensor([ids])).tokens[0].tolist()[len(ids) :])


def test_of_a_long_prompt_the_end_is_read():
    tokenizer = train_tokenizer(TEXTS, kind="word")
    model = random_decoder(tokenizer, max_seq_len=8)
    prompt = "the cat sees the dog a bird sings the cat sees the dog a bird"
    ids = [tokenizer.bos_id, *tokenizer.encode(prompt)[-4:]]
    actual = continuation(model, tokenizer, prompt)
    assert actual == tokenizer.continuation(naive(model, ids, 3, crc32(prompt.encode())), len(ids))
