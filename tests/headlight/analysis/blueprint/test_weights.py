"""Every weight at its box, against the built model's own count and the published sizes."""

from headlight.analysis.blueprint.weights import all_weights, n_parameters
from headlight.analysis.heads.inventory import parameters_by_part
from tests.model.building import each_variation, varied_model


@each_variation
def test_weights_are_the_models_own_each_at_one_box(variation: str):
    model = varied_model(variation)
    config = model.config
    parameters = dict(model.named_parameters(remove_duplicate=False))
    actual = all_weights(config)
    assert sorted(weight.name for weight in actual) == sorted(parameters)
    assert all(weight.shape == tuple(parameters[weight.name].shape) for weight in actual)
    assert n_parameters(config) == sum(p.numel() for p in model.parameters())
    assert n_parameters(config) == sum(parameters_by_part(config).values())
    for weight in actual:
        if weight.shared_with:
            assert parameters[weight.name] is parameters[weight.shared_with] and weight.n_parameters == 0
