"""The errors that a person can cause and mend: one calm message each, with what, got, allowed, way out."""


class HeadlightError(ValueError):
    """Base of every error with a message meant for a person; anything else that is raised is a defect of ours."""


class ConfigError(HeadlightError):
    """A configuration that makes no sense, or that this version does not know."""


class TextError(HeadlightError):
    """A text or a sequence of tokens that a model cannot take."""


class CheckpointError(HeadlightError):
    """A model folder that is missing, incomplete or damaged."""


class SiteError(HeadlightError):
    """A hook site that the model does not have, or a head or a text that a site does not have."""


class InterventionError(HeadlightError):
    """An intervention that does not fit its site, or that returned something the model cannot go on with."""


class CorpusError(HeadlightError):
    """A corpus that is unknown, or data that a corpus cannot hold."""


class RunError(HeadlightError):
    """A training run that cannot start, go on, or be read."""
