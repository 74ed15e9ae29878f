"""Text: tokenizers, and labels of tokens."""
