"""What the model's tests share: each starts from the same random state."""

import pytest
import torch


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    torch.manual_seed(0)
