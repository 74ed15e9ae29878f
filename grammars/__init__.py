"""The grammars of the corpora en-fr and stories, which are shipped as data; nothing installed imports this package.

`python -m grammars` draws the corpora again and writes the files in transformer_core/corpora/shipped.
"""
