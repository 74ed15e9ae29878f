"""The lines of Python that give what the page Attention step by step shows: the walk, its numbers, and their proof."""

from pages.learn.steps import view_fields
from pages.learn.steps.data import StepsData
from pages.shared import code

WALKED = """
from transformer_core.analysis.walkthrough import walk

inputs = [{inputs}]
walked = walk(model, inputs, attention={attention!r}, layer={layer}, head={head})
for stage in walked.stages:
    for name in stage.matrices:
        print(stage.name, walked.quantities[name].symbol, walked.quantities[name].values[{row}])
"""
NUMBER = "print(walked.number({matrix!r}, {row}, {column}))\n"
PROOF = "print(walked.proof())\n"
SPLIT = """
from pathlib import Path

from transformer_core.analysis.flow.score_sources import score_sources
from transformer_core.figures.offline import offline_page
from transformer_core.figures.bars.score_sources import score_sources_heatmap

inputs = [{inputs}]
split = score_sources(model, inputs, attention={attention!r}, layer={layer}, head={head})
values = split.cell({query}, {key})  # [source of the query, source of the key]
names = [[str(source.label()) for source in side] for side in (split.sources_of_query, split.sources_of_key)]
figure = score_sources_heatmap(values, *names, query={query_words!r}, key={key_words!r}, title={title!r})
page = offline_page(figure, title={title!r}, about={text!r})
Path({file!r}).write_text(page, encoding="utf-8")
print(values)
"""
INPUTS = {  # the tokens that the model was given, once `code.opening` has run
    "encoder_decoder": "src[0].tolist(), tokens[0, :-1].tolist()",
    "decoder_only": "tokens[0].tolist()",
    "encoder_only": "tokens[0].tolist()",
}


def code_of(data: StepsData) -> str:
    """Return the lines that walk through the head and print its numbers, and the chosen one with its formula."""
    cell = view_fields.CELL.value
    number = NUMBER.format(matrix=cell.matrix, row=cell.row, column=cell.column) if cell else ""
    return code.opening(data.card, data.view, data.model_run) + WALKED.format(**_head(data)) + number + PROOF


def redraw_sources(data: StepsData, query_words: str, key_words: str, title: str, name: str) -> str:
    """Return the lines that draw a score by its sources again."""
    words = {"query_words": query_words, "key_words": key_words, "title": title, "file": f"{name}.html"}
    places = {"query": data.query, "key": data.key, "text": data.view.text}
    return code.opening(data.card, data.view, data.model_run) + SPLIT.format(**_head(data), **words, **places)


def _head(data: StepsData) -> dict[str, object]:
    view = data.view
    told = {"attention": view.attention, "layer": view.layer, "head": view.head, "row": data.query}
    return told | {"inputs": INPUTS[data.model_run.architecture]}
