"""The parts of the Attention step by step page, drawn without an app."""

from collections.abc import Callable

from pages.learn.steps import view_fields
from pages.learn.steps.data import StepsData
from tests.pages.learn.bare import looking

Look = Callable[..., StepsData]
look = looking(view_fields.FIELDS, StepsData)
