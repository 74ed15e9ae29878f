"""The lines of Python that give what the page Architecture shows, to be run at the project's root."""

from pages.learn.architecture.data import MOST_TOKENS, ArchitectureData
from pages.shared import code
from transformer_core.analysis.blueprint.shapes import PROBABILITIES

CAPTURED = """inputs = ({inputs},)
{cut}with torch.inference_mode(), tc.capture(model, {site!r}) as acts:
    {run}(*inputs)
values = {value}
print(tuple(values.shape), values)
"""
CUT = "inputs = tuple(tokens[:, :{n}] for tokens in inputs)  # as much as is captured here\n"
PLAN = """
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.analysis.blueprint.shapes import in_numbers, sizes, stages
from transformer_core.analysis.blueprint.weights import weights_of

box = blueprint_of(model.config).boxes[{box!r}]
numbers = sizes(model.config, box, batch={batch}, lengths={lengths!r})
for stage in stages(model.config, box):
    print(stage.what, stage.axes, in_numbers(stage.axes, numbers), stage.site)
for weight in weights_of(model.config)[box.name]:
    print(weight.name, weight.shape, weight.n_parameters)
"""
PARAMETERS = """
{replaced}from transformer_core.analysis.heads.inventory import parameters_by_part

counts = parameters_by_part({config})
print(counts, sum(counts.values()))
"""
REPLACED = "from dataclasses import replace\n\n"
COST = """
from transformer_core.analysis.blueprint.forward_cost import crossing, memory, reading_cost, writing_cost

cost = reading_cost(model.config, {length})
print(cost, cost.total)  # multiply-adds of one forward
{writing}print(crossing(model.config, "attention", "feed_forward"))  # tokens
n_parameters = sum(weight.numel() for weight in model.parameters())
print(memory(model.config, {length}, n_parameters=n_parameters, bytes_per_number={width}))
"""
WRITING = """for cached in (True, False):
    print(writing_cost(model.config, {length}, cached=cached))
"""
STREAM = """inputs = ({inputs},)
{cut}
from transformer_core.analysis.blueprint.capture import CapturedText

captured = CapturedText(model, [tokens[0].tolist() for tokens in inputs])
for stack, stream in captured.streams().items():
    print(stack, stream.names)
    print(stream.sums)  # [place, pos]: length of the stream
    print(stream.shares)  # [sublayer, pos]: length of what is added, as a part of what was there
"""


def code_of(data: ArchitectureData, part: str) -> str:
    """Return the lines for a part of the page."""
    opening = code.opening(data.card, data.view, data.model_run)
    match part:
        case "parameters":
            sharing = data.shared_config.tie_embeddings
            is_own = sharing == data.card.config.tie_embeddings
            config = "model.config" if is_own else f"replace(model.config, tie_embeddings={sharing!r})"
            return opening + PARAMETERS.format(replaced="" if is_own else REPLACED, config=config)
        case "cost":
            length, width = max(data.shape_lengths.values()), bytes_per_number(data)
            writing = WRITING.format(length=length) if data.card.config.has_decoder else ""
            return opening + COST.format(length=length, width=width, writing=writing)
        case "stream":
            return opening + STREAM.format(**_inputs(data))
    return opening + PLAN.format(box=data.box.name, batch=data.batch, lengths=data.shape_lengths)


def captured(data: ArchitectureData, site: str) -> str:
    """Return the lines that give an activation."""
    is_softmax = site == PROBABILITIES
    value = "logits[0].float().softmax(dim=-1)" if is_softmax else f"acts[{site!r}][0]"
    run = "logits = model" if is_softmax else code.run(data.card)
    told = {"site": "hook_logits" if is_softmax else site, "value": value, "run": run}
    return code.opening(data.card, data.view, data.model_run) + CAPTURED.format(**told, **_inputs(data))


def bytes_per_number(data: ArchitectureData) -> int:
    """Return how wide the model's numbers are."""
    return 2 if data.source.precision == "bfloat16" else 4


def _inputs(data: ArchitectureData) -> dict[str, str]:
    """Return what the model is called with, and the line that cuts it."""
    inputs = code.INPUTS[data.model_run.architecture]
    return {"inputs": inputs, "cut": CUT.format(n=MOST_TOKENS) if data.is_cut else ""}
