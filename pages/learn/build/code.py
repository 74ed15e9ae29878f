"""The open step as lines for a notebook: its inputs, captured or parameters of the model, and what is expected."""

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import transformer_core as tc
from pages.learn.build.data import BuildData
from pages.shared.code_lines import enclosed
from pages.shared.recipe import Expression, Lines, script

CAPTURE = """
tokens = [torch.tensor([ids], device="{device}") for ids in model_run.inputs]
{captured}
    model.final_states(*tokens)
parameters = {{name: value.detach() for name, value in model.named_parameters()}}
"""


def lines(data: BuildData) -> str:
    """Return lines that print what the open step is to compute."""
    step, notebook = data.step, _Notebook(data)
    body = [*notebook.assigned(step.line)]
    result = notebook.captured(step.name) or notebook.torch(step.line)
    sites = [f'"{site}"' for site in notebook.sites]
    captured = enclosed("with torch.inference_mode(), tc.capture(", ["model", *sites], ") as acts:", ", ", ",")
    capture = CAPTURE.format(device=data.view.device, captured=captured).strip()
    uses: list[Expression | object] = [data.recipe, tc.capture, math.sqrt]
    if "inputs." in "".join(body):
        uses.append(data.inputs_recipe)
    return script(Lines("\n".join([capture, *body, f"print({result})"]), tuple(uses), ("torch",)))


@dataclass
class _Notebook:
    """How the variables of the steps come from the model."""

    data: BuildData
    sites: list[str] = field(default_factory=list)  # that have to be captured
    names: set[str] = field(default_factory=set)  # that are assigned

    def assigned(self, line: str) -> Iterator[str]:
        """Yield the lines that assign the names of a line, and those that they need."""
        nodes = [node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)]
        for name in dict.fromkeys(node.id for node in sorted(nodes, key=lambda node: node.col_offset)):
            if name in self.names or name not in self.data.bench.given(len(self.data.bench.steps)):
                continue
            self.names.add(name)
            value = self.captured(name) or self._parameter(name)
            if not value:
                value = next(step.line for step in self.data.bench.steps if step.name == name)
                yield from self.assigned(value)
                value = self.torch(value)
            yield f"{name} = {value}"

    @staticmethod
    def torch(line: str) -> str:
        """Return a solution as torch runs it."""
        return line.replace("softmax(", "torch.softmax(")

    def captured(self, name: str) -> str:
        """Return where a variable is captured; "" where the model never holds it."""
        outline = self.data.walk.outline
        module, head, group = outline.module, outline.head, outline.config.n_heads // outline.config.n_kv_heads
        kv_head, of_groups = outline.key_value_head, f".repeat_interleave({group}, dim=0)" if group > 1 else ""
        places = {
            "x": (outline.sites["x_normalized" if outline.is_pre_norm else "x"] or "", "[0]"),
            "memory": (outline.memory_site if outline.is_cross else "", "[0]"),
            "q": (f"{module}.hook_q", f"[0, {head}]"),
            "k": (f"{module}.hook_k", f"[0, {kv_head}]"),
            "v": (f"{module}.hook_v", f"[0, {kv_head}]"),
            "mask": (f"{module}.hook_mask", "[0, 0]"),
            "masked": (f"{module}.hook_attn_scores", f"[0, {head}]"),
            "pattern": (f"{module}.hook_pattern", f"[0, {head}]"),
            "z": (f"{module}.hook_z", f"[0, {head}]"),
            "Q": (f"{module}.hook_q", "[0]"),
            "K": (f"{module}.hook_k", f"[0]{of_groups}"),
            "V": (f"{module}.hook_v", f"[0]{of_groups}"),
            "Z": (f"{module}.hook_z", "[0]"),
            "attn_out": (f"{module}.hook_attn_out", "[0]"),
        }
        site, index = places.get(name, ("", ""))
        if site and site not in self.sites:
            self.sites.append(site)
        return f'acts["{site}"]{index}' if site else ""

    def _parameter(self, name: str) -> str:
        """Return how a variable comes from the configuration or the parameters; "" where it is a step's result."""
        inputs, outline = self.data.bench.inputs, self.data.walk.outline
        values = {
            "d_k": str(inputs.d_head),
            "n_heads": str(inputs.n_heads),
            "n_queries": str(len(inputs.x)),
            "bias": f"torch.from_numpy(inputs.bias[{outline.head}]).float()",
            "biases": "torch.from_numpy(inputs.bias).float()",
            "rotate": "inputs.rotate",
        }
        kind, _, letter = name.partition("_")
        if name in values or kind not in ("W", "b"):
            return values.get(name, "")
        projection = f"{outline.module}.{'out' if letter == 'O' else letter.lower()}"
        head, d_head = outline.head if letter == "Q" else outline.key_value_head, inputs.d_head
        rows = "" if letter == "O" else f"[{head * d_head} : {(head + 1) * d_head}]"
        if kind == "W":
            return f'parameters["{projection}.weight"]{rows}.T'
        is_there = outline.config.attention_bias == "all" or (letter != "O" and outline.config.attention_bias == "qkv")
        return f'parameters["{projection}.bias"]{rows}' if is_there else "0.0"
