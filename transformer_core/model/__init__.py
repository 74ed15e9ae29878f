"""The model: one attention, one block, one stack, in the paper's order.

`positions` and `embeddings` make vectors of tokens, `masks` says who may look at whom, `attention` and `feed_forward`
are the sub-layers, `block` and `stack` assemble them, `transformer` joins two stacks; `presets` are sets of numbers.
"""
