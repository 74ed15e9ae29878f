"""Sentences from grammars: English with its French, and stories."""
