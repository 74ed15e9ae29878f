"""What has no room in the figure of a head: tokens that were not read, and those that are not shown."""

from headlight.figures import isolate
from pages.learn.steps.data import MOST_SHOWN, StepsData
from pages.shared import prose
from transformer_core.errors import mark
from transformer_core.language import say

CUT = mark("This text is long: {n} of its tokens are left out here.")
PART = mark(
    "Showing {n_queries} queries and {n_keys} keys around the chosen query; all sums run over all {all_keys} keys."
)
ELSEWHERE = mark("{share:.0%} of this query’s attention goes to keys not shown here, most of it to {key} “{token}”.")
LEAST_ELSEWHERE = 0.01  # of the attention, that is reported


def show(data: StepsData) -> None:
    """Say what has no room."""
    n_all = tuple(map(len, data.labels))
    n_left_out = data.model_run.n_left_out
    lines = [say(CUT, n=n_left_out)] if n_left_out else []
    if max(n_all) > MOST_SHOWN:
        n_queries, n_keys = map(len, data.shown)
        lines.append(say(PART, n_queries=n_queries, n_keys=n_keys, all_keys=n_all[1]))
        lines += elsewhere(data)
    if lines:
        prose.small(" ".join(lines))


def elsewhere(data: StepsData) -> list[str]:
    """Say where the query looks beyond what is shown."""
    share = data.weight_elsewhere
    if share < LEAST_ELSEWHERE or data.strongest_key in data.shown[1]:
        return []
    key = data.strongest_key
    return [say(ELSEWHERE, share=share, key=key, token=isolate(data.labels[1][key]))]
