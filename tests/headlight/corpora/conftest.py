"""The fixtures of tests of corpora."""

from tests.corpora.conftest import cache, cache_of_this_run, sample  # noqa: F401
