"""A Transformer that can be watched: model, training, decoding and the instruments to look inside.

>>> import transformer_core as tc
>>> model, tokenizer = tc.load("checkpoints/en-fr")
>>> with tc.capture(model, "*.hook_pattern") as acts:
...     logits = model(src, tgt)
>>> acts["decoder.blocks.0.cross_attn.hook_pattern"]  # [batch, head, query, key]

`tc.presets` is `transformer_core.model.presets`, configurations to start from. A name is loaded, and torch with it,
when it is first used, so that a `--help` need not wait for torch.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
