"""The diagnosis of a training: its curves and tests, read as an experienced practitioner would read them.

`case` is what goes in, with what several rules need, `finding` what comes out, `verdict` has `diagnose`. Between them:
`curves` reads the log, and the rules ask: `direct_tests` (is there something to learn, is the answer given away, are
the outputs wrong?), `learning_rate`, `overfitting`, `level` (which baseline would reach this loss?), `progress`. Each
rule's docstring names the innocent explanation of its sign, and what rules it out. Each threshold is a named constant
with its reason beside it; they are rules of thumb, and the findings give the numbers.
"""

from headlight.diagnosis.case import Case
from headlight.diagnosis.finding import Finding, FindingKind, Severity
from headlight.diagnosis.verdict import diagnose

__all__ = ["Case", "Finding", "FindingKind", "Severity", "diagnose"]
