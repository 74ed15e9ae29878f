"""The diagnosis of a training: its curves and tests, read as an experienced practitioner would read them.

`diagnose` (verdict.py) turns a `Case` into `Finding`s. `curves` reads the log; the rules are in `direct_tests` (is
there something to learn, do answers leak, are the outputs wrong?), `curve_rules` (the learning rate, overfitting) and
`progress`. Each rule's docstring names the innocent explanation of its sign, and how that is ruled out. Each threshold
is a named constant with its reason; they are rules of thumb, and findings give the numbers.
"""

from headlight.diagnosis.case import Case, Severity
from headlight.diagnosis.finding import Finding, FindingKind
from headlight.diagnosis.verdict import diagnose

__all__ = ["Case", "Finding", "FindingKind", "Severity", "diagnose"]
