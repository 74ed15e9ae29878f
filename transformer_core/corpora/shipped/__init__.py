"""Corpora that the package `grammars` drew with seed 0, shipped as data, and the measures that score outputs."""
