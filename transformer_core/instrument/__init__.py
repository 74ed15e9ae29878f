"""Instruments: capturing activations and intervening on them; the model does not depend on them."""
