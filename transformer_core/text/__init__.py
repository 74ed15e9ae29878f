"""Text: between what people read and what a model reads."""
