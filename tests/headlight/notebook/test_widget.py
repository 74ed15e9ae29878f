"""The view as a widget of a notebook."""

import torch

import headlight as hl


def test_a_widget_has_a_picture_for_where_no_widgets_run():
    widget = hl.show(attentions=[torch.eye(2)[None]], tokens=["a", "b"]).widget()
    bundle, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "data:image/png;base64," in bundle["text/html"] and "<script" not in bundle["text/html"]
