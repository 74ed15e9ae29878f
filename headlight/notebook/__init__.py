"""Attention in notebooks and files: an interactive view of all heads, which needs no network and no server."""
