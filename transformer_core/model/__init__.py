"""The model: one attention, one block, one stack, in the paper's order.

`embeddings` and `positions` turn tokens into vectors, `masks` says which keys a query may attend to, `attention` and
`feed_forward` are the sub-layers, `block` and `stack` assemble them, `transformer` joins two stacks; `presets` are
configurations.
"""

from transformer_core.model import presets as presets
