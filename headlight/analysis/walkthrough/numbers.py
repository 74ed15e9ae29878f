"""The formula of each number of a walk, filled in with the numbers that it is computed from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.walkthrough.filling import Weights, added, dots, linear, normalized, rotated, softmax_share
from headlight.analysis.walkthrough.outline import DROPPED, Formula, Note, Origin, Outline, WalkInputs, pair_factors
from headlight.analysis.walkthrough.recomputing import AllHeads, Recomputed
from transformer_core.config import Activation
from transformer_core.model.distance_bias import AlibiBias, relative_bucket

Maker = Callable[[int, int], Formula]

_EMBEDDINGS = {"embed": "E", "pos_embed": "P", "segment_embed": r"E_{\mathrm{segment}}"}
_STREAM = {"resid_pre": "X", "resid_mid": "R", "resid_mid_cross": "(R + C)", "mlp_out": "F"}
_ACTIVATIONS: Mapping[Activation, str] = {
    "relu": r"\mathrm{max}(0 , H_0)",
    "gelu": "H_0 · Φ(H_0)",
    "gelu_tanh": r"\frac{H_0}{2} · (1 + \mathrm{tanh}(\sqrt{\frac{2}{π}} · (H_0 + 0.044715 · H_0^3)))",
    "silu": r"\frac{H_0}{1 + e^{-H_0}}",
    "squared_relu": r"{\mathrm{max}(0 , H_0)}^2",
}


@dataclass(eq=False)
class Formulas:
    """Fills in formulas with the numbers of one walk."""

    outline: Outline
    weights: Weights  # of its block
    inputs: WalkInputs
    recomputed: Recomputed  # source of the other heads' numbers, which the walk does not capture
    values: Mapping[str, Float[np.ndarray, "_ _"]]  # the model's numbers, by quantity
    keys: Sequence[str]  # labels of the keys

    def __post_init__(self) -> None:
        """Prepare the formula of each quantity."""
        self.config = self.outline.config
        self._makers = self._attention() | self._rest_of_the_block()

    def of(self, name: str, row: int, column: int) -> Formula:
        """Return the formula of one number."""
        return self._makers[name](row, column)

    def _attention(self) -> dict[str, Maker]:
        """Return the values in the formulas of the attention's quantities, by name."""
        outline, module = self.outline, self.outline.module
        read = outline.read
        looked_at = "memory" if outline.is_cross else read
        return {
            "x": partial(self._origin, outline.origin_of_x(), self.inputs.x_parts),
            "memory": partial(self._origin, outline.origin_of_memory(), self.inputs.memory_parts),
            "x_normalized": self._norm("x", outline.norm),
            **self._on_the_way("q", read, outline.head),
            **self._on_the_way("k", looked_at, outline.key_value_head),
            "v": self._linear(looked_at, f"{module}.v", head=outline.key_value_head),
            "elementwise": partial(self._pair, "elementwise"),
            "product": lambda r, c: dots(self.values["q"][r], self.values["k"][c], ("q", "k"), "d_head"),
            "scaled": self._score,
            "bias": self._distance_bias,
            "biased": partial(self._score, has_bias=True),
            "capped": self._capped,
            "mask": self._mask,
            "attn_scores": self._masked,
            "pattern": lambda r, c: softmax_share(self.values["attn_scores"][r], c, self.keys, self._reason(r, c)),
            "weighted": partial(self._pair, "weighted"),
            "z": self._z,
            "concat": partial(self._concat, self.recomputed.attention),
            **self._added("attn", self._linear("concat", f"{module}.out", over="head d_head"), module),
        }

    def _rest_of_the_block(self) -> dict[str, Maker]:
        """Return the values in the formulas after the attention, by name."""
        outline, block, is_pre = self.outline, self.outline.block, self.outline.is_pre_norm
        stream = "resid_mid" if is_pre else "normalized"
        crossed = "resid_mid_cross" if is_pre else "normalized_cross"
        added_to = crossed if outline.is_followed_by_cross else stream
        fed = "normalized" if outline.has_input_norms else added_to
        first = "gate" if self.config.gated else "up"
        norm = ("resid_mid", outline.norm)
        if is_pre:
            norm = ("x" if outline.config.parallel_residual else added_to, outline.next_norm)
        return {
            **{name: partial(self._dropped, name) for name in DROPPED},
            "resid_mid": self._sum("x", "attn_out"),
            "normalized": self._norm(*norm),
            "cross_x": self._norm("resid_mid", f"{block}.ln_cross"),
            "cross_concat": partial(self._concat, self.recomputed.cross),
            **self._added(
                "cross", self._linear("cross_concat", f"{outline.cross}.out", over="head d_head"), outline.cross
            ),
            "resid_mid_cross": self._sum(stream, "cross_out"),
            "normalized_cross": self._norm("resid_mid_cross", f"{block}.ln_cross"),
            "mlp_pre": self._linear(fed, f"{block}.mlp.{first}"),
            "mlp_linear": self._linear(fed, f"{block}.mlp.up"),
            "mlp_post": self._neuron,
            **self._added("mlp", self._linear("mlp_post", f"{block}.mlp.down", over="d_ff"), f"{block}.mlp"),
            "resid_post": self._sum(added_to, "mlp_out"),
            "out": self._norm("resid_post", outline.next_norm),
        }

    def _on_the_way(self, name: str, source: str, head: int) -> dict[str, Maker]:
        """Return the formulas of queries or keys: projected, then normalized and rotated if the model does so."""
        module, config = f"{self.outline.module}.{name}", self.config
        before = f"{name}_normalized" if config.qk_norm else f"{name}_projected"
        project = self._linear(source, module, head=head)
        normalize = partial(self._head_norm, name, source, head)

        def turn(row: int, column: int) -> Formula:
            return rotated(self.values[before][row], name, row, column, config)

        last = turn if self.outline.is_rotated else normalize if config.qk_norm else project
        return {f"{name}_projected": project, f"{name}_normalized": normalize, name: last}

    def _head_norm(self, name: str, source: str, head: int, row: int, column: int) -> Formula:
        """Return the formula of a normalized query or key, whose norm may have a gain for each head."""
        module, scope = f"{self.outline.module}.{name}", self.config.qk_norm_scope
        projected = self._row(f"{name}_projected", row)
        gain = column if scope == "shared" else head * self.config.d_head + column
        if scope == "joint":  # the projections of all heads are one vector
            projected, column = self.weights.projected(module, self._row(source, row)), gain
        parts = {self._notation(f"{name}_projected"): projected}
        return normalized(self.weights, f"{module}_norm", parts, column, self.config, gain=gain)

    def _added(self, name: str, project: Maker, module: str) -> dict[str, Maker]:
        """Return the formulas of what a sub-layer adds: a projection, normalized if the model does so."""
        if not self.config.output_norm:
            return {f"{name}_out": project}
        return {f"{name}_projected": project, f"{name}_out": self._norm(f"{name}_projected", f"{module}.out_norm")}

    def _linear(self, of: str, module: str, *, head: int = 0, over: str = "d_model") -> Maker:
        """Return the maker for a projection; for queries, keys and values it uses the head's rows of the weights."""
        first = head * self.config.d_head
        return lambda r, c: linear(self.weights, module, self.values[of][r], first + c, over)

    def _norm(self, of: str, module: str) -> Maker:
        return lambda r, c: normalized(self.weights, module, {self._notation(of): self._row(of, r)}, c, self.config)

    def _origin(self, origin: Origin, held: Mapping[str, np.ndarray], row: int, column: int) -> Formula:
        """Return the formula of the attention's input: a sum, normalized if the model does so."""
        if origin.projection is not None:
            return linear(self.weights, origin.projection, held[origin.sites[0]][row], column, "d_embed")
        parts = {self._part(site): held[site][row].astype(np.float64) for site in origin.sites}
        return normalized(self.weights, origin.norm, parts, column, self.config)

    def _sum(self, *names: str) -> Maker:
        return lambda r, c: added({self._notation(name): self._row(name, r) for name in names}, c)

    def _row(self, name: str, row: int) -> Float[np.ndarray, " column"]:
        return self.values[name][row].astype(np.float64)

    def _pair(self, name: str, row: int, column: int) -> Formula:
        """Return the formula of a product of a query and a key; `row` counts (query, key) pairs."""
        query, key = divmod(row, len(self.keys))
        symbols = ("q", "k") if name == "elementwise" else ("A", "v")
        values = (float(factor[key, column]) for factor in pair_factors(self.values, name, query))
        return Formula(formula=" · ".join(symbols), constants=dict(zip(symbols, values, strict=True)))

    def _score(self, row: int, column: int, *, has_bias: bool = False) -> Formula:
        """Return the formula of a score before the mask, with or without the distance bias."""
        constants = {"{q · k}": float(self.values["product"][row, column])}
        score = Formula(formula="{q · k}", constants=constants)
        if self.config.scale_scores:
            constants["d_k"] = float(self.config.d_head)
            score = Formula(formula=r"\frac{q · k}{\sqrt{d_k}}", constants=constants)
        return score.plus("B", float(self.values["bias"][row, column])) if has_bias else score

    def _capped(self, row: int, column: int) -> Formula:
        """Return the formula of a capped score."""
        score = self._score(row, column, has_bias=self.outline.has_bias)
        constants = {**score.constants, "c": float(self.config.score_cap or 0)}
        return Formula(formula=rf"c · \mathrm{{tanh}}(\frac{{{score.formula}}}{{c}})", constants=constants)

    def _distance_bias(self, row: int, column: int) -> Formula:
        """Return the formula of the distance bias: a slope times the distance, maybe rounded, or a learned number."""
        if self.config.positions == "alibi":
            rule, head = AlibiBias(self.config), self.outline.head
            if rule.is_rounded:
                start, place = torch.zeros(1, dtype=torch.long), torch.tensor([row, column])
                of_query, of_key = rule.between(start, place)[head, 0].tolist()
                return Formula(formula="r_j - r_i", constants={"r_j": of_key, "r_i": of_query})
            slope = float(rule.slopes[head])
            return Formula(formula="-m · |i - j|", constants={"m": slope, "i": float(row), "j": float(column)})
        bucket = int(
            relative_bucket(
                torch.tensor([[column - row]]),
                n_buckets=self.config.n_relative_buckets,
                max_distance=self.config.relative_max_distance,
                is_causal=self.outline.is_causal,
            )
        )
        number = self.weights.row(f"{self.outline.stack}.position_bias.weight", bucket)[self.outline.head]
        one = f"B_{{{bucket}}}"
        return Formula(formula=one, constants={one: float(number), "j - i": float(column - row)})

    def _mask(self, row: int, column: int) -> Formula:
        """Return the formula of the mask: 1 where all conditions of this attention hold, else 0."""
        config, outline = self.config, self.outline
        conditions: list[str] = []
        constants: dict[str, float] = {}
        if outline.is_causal:
            conditions, constants = ["[j ≤ i]"], {"i": float(row), "j": float(column)}
        if config.sliding_window is not None and not outline.is_cross:
            conditions.append("[|i - j| < w]")
            constants |= {"i": float(row), "j": float(column), "w": float(config.sliding_window)}
        begins_with_padding = outline.is_causal and config.pad_id == config.bos_id and column == 0
        if config.pad_id is not None and not begins_with_padding:
            conditions.append(r"[t_j ≠ t_{\mathrm{pad}}]")
            constants |= {"t_j": float(self.inputs.keys[column]), r"t_{\mathrm{pad}}": float(config.pad_id)}
        return Formula(formula=" · ".join(conditions) or "1", constants=constants, note=self._reason(row, column))

    def _reason(self, row: int, column: int) -> Note:
        """Return why a query may or may not attend to a key."""
        window, distance = self.config.sliding_window, abs(row - column)
        if self.values["mask"][row, column]:
            return "allowed"
        if self.outline.is_causal and column > row:
            return "later"
        is_near = self.outline.is_cross or window is None or distance < window
        return "padding" if is_near else "outside window"

    def _masked(self, row: int, column: int) -> Formula:
        """Return the formula of a masked score: plus 0 where the query may attend, plus −∞ where it may not."""
        is_capped = self.config.score_cap is not None
        score = self._capped(row, column) if is_capped else self._score(row, column, has_bias=self.outline.has_bias)
        masked = score.plus(r"\mathrm{mask}", 0.0 if self.values["mask"][row, column] else -np.inf)
        return replace(masked, note=self._reason(row, column))

    def _z(self, row: int, column: int) -> Formula:
        """Return the formula of z, the head's weighted sum of values."""
        return dots(self.values["pattern"][row], self.values["v"][:, column], ("A", "v"), "key", self.keys)

    def _concat(self, heads: AllHeads | None, row: int, column: int) -> Formula:
        """Return the formula of one head's z in the concatenation; heads other than the walk's are recomputed."""
        assert heads is not None, "the block has no cross-attention"
        head, dimension = divmod(column, self.config.d_head)
        is_same = heads is self.recomputed.attention
        if is_same and head == self.outline.head:
            return self._z(row, dimension)
        shared = head * self.config.n_kv_heads // self.config.n_heads
        keys = self.keys if is_same else ()
        return dots(heads.pattern[head, row], heads.v[shared, :, dimension], ("A", "v"), "key", keys)

    def _dropped(self, name: str, row: int, column: int) -> Formula:
        """Return the formula of a number after dropout: 0, or the number before it divided by 1 - p."""
        of = DROPPED[name]
        rate = self.outline.rates.after(of)
        before, symbol = float(self.values[of][row, column]), self._notation(of)
        is_kept = before == 0 or self.values[name][row, column] != 0
        constants = {"m": float(is_kept), "p": rate, symbol: before}
        return Formula(formula=rf"\frac{{m}}{{1 - p}} {symbol}", constants=constants)

    def _neuron(self, row: int, column: int) -> Formula:
        formula = _ACTIVATIONS[self.config.activation]
        constants = {"H_0": float(self.values["mlp_pre"][row, column])}
        if self.config.gated:
            formula += " · H_1"
            constants["H_1"] = float(self.values["mlp_linear"][row, column])
        return Formula(formula=formula, constants=constants)

    def _part(self, site: str) -> str:
        """Return the notation of a summand of the attention's input: an embedding, or another sub-layer's output."""
        stem, config = site.rpartition("hook_")[2], self.config
        if stem in _EMBEDDINGS:
            is_scaled = stem == "embed" and config.scale_embeddings
            return rf"{{\sqrt{{d_{{\mathrm{{model}}}}}} {_EMBEDDINGS[stem]}}}" if is_scaled else _EMBEDDINGS[stem]
        if config.d_ff:
            summed, normalized = "R_2", "Y"  # what a layer passes on; normalized, where the stack's output is once more
        else:
            summed = "(R + C)" if site.startswith("decoder") and config.has_encoder else "R"
            normalized = "R′"
        written = "C" if "cross_attn" in site else "O"
        symbol = (_STREAM | {"attn_out": written, "resid_post": summed, "normalized": normalized})[stem]
        if site.startswith(f"{self.outline.block}."):  # output of its self-attention, in a walk through cross-attention
            return rf"{{{symbol}_{{\mathrm{{self}}}}}}"
        return f"{{{{{symbol}}}^{{({site.split('.')[2]})}}}}"

    def _notation(self, name: str) -> str:
        """Return the symbol of a quantity in formulas."""
        subscripts = str.maketrans({letter: f"_{digit}" for digit, letter in enumerate("₀₁₂")})
        return f"{{{self.outline.quantities[name].symbol.translate(subscripts)}}}"
