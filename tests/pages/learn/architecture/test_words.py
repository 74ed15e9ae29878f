"""Every box of every kind of model has a name, a sentence and a source."""

from pages.learn.architecture.words import does, sources, title
from tests.model.building import each_variation, varied_model
from transformer_core.analysis.blueprint.plan import blueprint_of


@each_variation
def test_something_is_said_of_every_box(variation: str):
    config = varied_model(variation).config
    for box in blueprint_of(config).boxes.values():
        assert title(config, box) and does(config, box) and sources(config, box)
