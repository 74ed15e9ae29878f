"""What heads do: their scores and words, measured over texts, pictured, matched between models."""
