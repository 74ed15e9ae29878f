"""Runs models that are spread over devices which this machine need not have; prints a line for each that went well.

Torch's fake tensors have no numbers, but know on which device they are and refuse to meet one from elsewhere. The
second kind of device is the one that torch reserves for new kinds; once set up it remains, hence a separate process.
"""

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

import transformer_core as tc
from tests.checkpoints.test_placement import TWO_DEVICES, config_of
from transformer_core.checkpoints.placement import connect_devices
from transformer_core.decoding.cache import KeyValueCache
from transformer_core.model.transformer import assemble

HOME, PLACES = "distant:0", ("distant:0", "cpu", "distant:1")  # of the three blocks of a stack


def spread(model: tc.Transformer) -> None:
    """Put fake weights on each device, and connect them."""
    for name, module in model.named_modules():
        block = name.partition(".blocks.")[2]
        device = PLACES[int(block.partition(".")[0])] if block else HOME
        for key, parameter in module.named_parameters(recurse=False):
            setattr(module, key, nn.Parameter(torch.empty(parameter.shape, device=device)))
        for key, buffer in module.named_buffers(recurse=False):
            setattr(module, key, torch.empty(buffer.shape, device=device))
        for key, value in vars(module).items():
            if isinstance(value, torch.Tensor):  # a constant that is brought along
                setattr(module, key, torch.empty(value.shape))
    model.tie()
    connect_devices(model)


def run(model: tc.Transformer) -> None:
    """Read, generate a token with a cache, continue with other rows; all outputs are on the device of the tokens."""
    tokens = torch.zeros(2, 9, dtype=torch.int64, device=HOME)
    assert model.decoder is not None
    memory, src = (model.encode(tokens), tokens) if model.encoder is not None else (None, None)
    with tc.capture(model, "decoder.*.self_attn.hook_pattern", "decoder.*.self_attn.hook_mask") as acts:
        assert str(model.decode(tokens, memory, src).device) == HOME
    assert tuple(str(acts[f"decoder.blocks.{i}.self_attn.hook_pattern"].device) for i in range(3)) == PLACES
    cache = KeyValueCache(3)
    model.decode(tokens[:, :4], memory, src, cache)
    assert str(model.decode(tokens[:, 4:5], memory, src, cache).device) == HOME


if __name__ == "__main__":
    _setup_privateuseone_for_python_backend("distant")
    for model_name in TWO_DEVICES:
        model = assemble(config_of(model_name, pad_id=None)).eval()
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            spread(model)
            run(model)
        print(model_name)
