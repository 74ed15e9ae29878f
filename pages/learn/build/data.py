"""The data of the Build page: a head on a text, the learner's lines with their results, and the page's code."""

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import transformer_core as tc
from pages.learn.build import view_fields
from pages.learn.build.engine.judging import Verdict, judge
from pages.learn.build.engine.one_head import BuildStep
from pages.learn.build.engine.workbench import Workbench
from pages.learn.steps import data as steps_data
from pages.shared.code_lines import enclosed
from pages.shared.models import ModelCard
from pages.shared.recipe import Expression, Lines, call, literal, named, script, through, value_of
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.cached_property import cached_property

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.walkthrough.walkthrough import Walkthrough

CAPTURE = """
tokens = [torch.tensor([ids], device="{device}") for ids in model_run.inputs]
{captured}
    model.final_states(*tokens)
parameters = {{name: value.detach() for name, value in model.named_parameters()}}
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class BuildData:
    """A head on a text, and a line for each of the twelve steps."""

    card: ModelCard
    view: View
    source: Source
    recipe: Expression  # the model run as code
    inputs_recipe: Expression  # the inputs of its attention, as code
    model_run: "ModelRun"
    walk: "Walkthrough"
    bench: Workbench

    @classmethod
    def current(cls, card: ModelCard) -> "BuildData | None":
        """Return the data of the page; None without a text.

        Raises:
            HeadlightError: the model cannot be loaded, the text cannot be read by it, or its attention has parts that
                the paper's does not have.
        """
        from headlight.analysis.walkthrough.walkthrough import attention_inputs

        state.fit(card)
        view = state.current()
        if not view.text:
            return None
        source = view.source(card, is_changed=False)  # the learner rebuilds the model's own formula
        recipe = steps_data.recipe(source, card.config, view.text, view.target)
        walk_recipe = steps_data.walk_of(recipe, source, view.head_name)
        inputs_recipe = named("inputs", call(attention_inputs, walk_recipe))
        model_run, walk, inputs = value_of((recipe, walk_recipe, inputs_recipe))
        return cls(
            card=card,
            view=view,
            source=source,
            recipe=recipe,
            inputs_recipe=inputs_recipe,
            model_run=model_run,
            walk=walk,
            bench=Workbench.of(inputs, walk),
        )

    @cached_property
    def bench_recipe(self) -> Expression:
        """The workbench as code."""
        walk = steps_data.walk_of(self.recipe, self.source, self.view.head_name)
        return named("bench", through(literal(Workbench).of(self.inputs_recipe, walk), lambda _: self.bench))

    @property
    def place(self) -> int:
        """The index of the open step, from 0."""
        return int(view_fields.STEP.value) - 1

    @property
    def step(self) -> BuildStep:
        """The open step."""
        return self.bench.steps[self.place]

    @property
    def lines(self) -> Sequence[str]:
        """What the learner wrote, for each step."""
        return [str(line.value).strip() for line in view_fields.LINES]

    @cached_property
    def verdicts(self) -> "Sequence[Verdict | None]":
        """The verdict on each line; None for an empty line."""
        return [judge(self.bench, place, line) if line else None for place, line in enumerate(self.lines)]

    @property
    def open_steps(self) -> Sequence[int]:
        """The numbers, from 1, of the steps whose line is missing or wrong."""
        return [place + 1 for place, verdict in enumerate(self.verdicts) if verdict is None or not verdict.is_right]

    @property
    def labels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of all queries and all keys."""
        return self.model_run.labels(self.view.attention)

    def file_name(self, what: str) -> str:
        """Return a file name that identifies this head."""
        view = self.view
        return f"{what}-{view.attention}-{view.layer}-{view.head}"


def code(data: BuildData) -> str:
    """Return code that prints the expected result of the open step."""
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
    """Code that derives the variables of the steps from the model."""

    data: BuildData
    sites: list[str] = field(default_factory=list)  # the hook points to capture
    names: set[str] = field(default_factory=set)  # the variables assigned so far

    def assigned(self, line: str) -> Iterator[str]:
        """Yield assignments for the variables of a line and, before them, for those that they depend on."""
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
        """Return a solution as torch code."""
        return line.replace("softmax(", "torch.softmax(")

    def captured(self, name: str) -> str:
        """Return code for the captured value of a variable; "" if the model never computes it."""
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
        """Return code for a variable from the configuration or the parameters; "" for the result of a step."""
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
