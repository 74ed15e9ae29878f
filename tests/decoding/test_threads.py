"""Little work runs on one thread, and the process has its threads again afterwards, whatever happens."""

from collections.abc import Iterator

import pytest
import torch

import transformer_core as tc
from transformer_core.decoding.threads import threads_for


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_little_work_takes_one_thread_and_much_takes_all(three_threads: None):
    config = tc.presets.tiny_decoder(vocab_size=100)
    products = [weight.numel() for name, weight in tc.build(config).named_parameters() if name.endswith("weight")]
    n_tokens = int(60e6 / sum(products))
    seen = []
    for n in (1, int(0.9 * n_tokens), int(1.1 * n_tokens)):
        with threads_for(config, n):
            seen.append(torch.get_num_threads())
    assert seen == [1, 1, 3]


def test_threads_come_back_after_an_error(three_threads: None):
    with pytest.raises(KeyError), threads_for(tc.presets.tiny_decoder(vocab_size=100), 1):
        raise KeyError
    assert torch.get_num_threads() == 3


def test_decoding_takes_one_thread_in_each_step(three_threads: None):
    model = tc.build(tc.presets.tiny_decoder(vocab_size=100)).eval()
    seen = []
    assert model.decoder is not None
    model.decoder.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    prompt = torch.tensor([[5, 6, 7]])
    tc.greedy_decode(model, prompt, max_new_tokens=3)
    tc.beam_search(model, prompt, n_beams=2, max_new_tokens=3)
    tc.DecodingTree(model, prompt, max_new_tokens=3)
    assert len(seen) >= 7 and set(seen) == {1}
    assert torch.get_num_threads() == 3
