"""Which heads turn "it" into il or elle: heads patched between minimal pairs, and the pronoun that follows."""
