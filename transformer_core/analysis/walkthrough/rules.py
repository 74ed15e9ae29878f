"""How numbers are made of others: the rules by name, in the notation of `formula_tree`; and why cells are masked."""

from collections.abc import Mapping

from transformer_core.language import mark

RULES: Mapping[str, str] = {  # over terms with the factors a and b
    "sum of products": "∑ a_i b_i",
    "sum of products and bias": "∑ a_i b_i + b",
    "sum": "∑ a_i",
    "a · b": "a · b",
    "a / b": r"\frac{a}{b}",
    "layer norm": r"\frac{∑ a_i - μ}{σ} · γ + β",
    "layer norm without bias": r"\frac{∑ a_i - μ}{σ} · γ",
    "rms norm": r"\frac{∑ a_i}{\mathrm{rms}} · γ",
    "exp over sum of exps": r"\frac{e^{S - \mathrm{max}}}{∑ e^{S_j - \mathrm{max}}}",
    "the same": "a",
    "allowed": "1",
    "forbidden": "0",
    "-inf": "-∞",
    "looked up": "a",
    "relu": r"\mathrm{max}(0 , a)",
    "gelu": r"a · \mathrm{Φ}(a)",
    "gelu_tanh": r"\frac{a}{2} (1 + \mathrm{tanh}(\sqrt{\frac{2}{π}} (a + 0.044715 a^3)))",
    "silu": r"\frac{a}{1 + e^{-a}}",
    "relu · b": r"\mathrm{max}(0 , a) · b",
    "gelu · b": r"a · \mathrm{Φ}(a) · b",
    "gelu_tanh · b": r"\frac{a}{2} (1 + \mathrm{tanh}(\sqrt{\frac{2}{π}} (a + 0.044715 a^3))) · b",
    "silu · b": r"\frac{a}{1 + e^{-a}} · b",
}

MAY_LOOK = mark("the query may look at this key")
IS_LATER = mark("this key comes after the query")
IS_FAR = mark("this key is outside the window of the query")
IS_PADDING = mark("this key is padding")
