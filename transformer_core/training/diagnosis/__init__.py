"""Why does it talk garbage? A training's numbers and outputs, read as somebody with experience would read them.

`evidence` is what goes in, `finding` what comes out, `verdict` has `diagnose`. Between them: `curves` reads the log,
`case` works out what several rules need, `circles` measures repetition, and the rules ask one question each: `level`
(what would reach this loss?), `progress`, `learning_rate`, `memory` (by heart, or read off?), `speech`. Each threshold
is a named constant with its reason beside it; they are rules of thumb, and the findings say with which numbers they
were met.
"""

from transformer_core.training.diagnosis.evidence import Evidence, Sample
from transformer_core.training.diagnosis.finding import Finding, FindingKind, Severity
from transformer_core.training.diagnosis.verdict import diagnose

__all__ = ["Evidence", "Finding", "FindingKind", "Sample", "Severity", "diagnose"]
