"""Why a cell of the mask, of the scores or of the pattern is what it is; and what rotary positions leave as it is."""

from transformer_core.errors import mark

MAY_LOOK = mark("allowed: the query may look at this key")
IS_LATER = mark("not allowed: this key comes after the query")
IS_FAR = mark("not allowed: this key is outside the window of the query")
IS_PADDING = mark("not allowed: this key is padding")
SEES_NOTHING = mark("this query may look at nothing, and its row of the pattern is all 0")
IS_NOT_ROTATED = mark("rotary positions leave this dimension as it is")
