"""Statistics of corpora: sizes, baselines, and checks of what a training can learn from them."""
