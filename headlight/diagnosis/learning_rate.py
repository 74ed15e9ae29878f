"""Whether the learning rate was too high or too low."""

from statistics import fmean

from headlight.diagnosis.case import Case
from headlight.diagnosis.curves import change
from headlight.diagnosis.finding import Finding
from headlight.diagnosis.wording import nats, number, percent, setting, times
from transformer_core.errors import Message

_N_WINDOWS = 8  # pieces of the curve, the best of which is compared with the last
_RISE_NATS, _RISE_SHARE = 0.3, 0.1  # of a training loss over its best: far more than batches differ by
_TOO_HIGH_RATIO = 4.0  # times the usual rate; at 5 times, a tiny model of ours came to 1.9 nats, at half to 0.1
_FAR_TOO_HIGH_RATIO = 10.0  # times the usual rate: a loss that falls all the same would fall faster at a lower one
_LITTLE = 0.5  # of the bigram entropy: a loss above it is little to show for such steps
_TOO_LOW_RATIO = 0.1  # of the usual learning rate: a tenth learns about ten times as slowly
_LATE_WARMUP = 1 / 2  # of all steps: a warm-up that takes more leaves hardly any at the full rate


def too_high(case: Case) -> Finding | None:
    """Say that the learning rate is too high, and by which sign.

    Innocent: harder batches late in the data, or single ones that are unlike the others; a hard task that is still
    being learnt. Ruled out: a rise must last, and the held-out loss must not have just been the lowest; jumps count for
    nothing; and a high rate alone is no sign while the loss falls or the task is solved.
    """
    sign = None if case.has_held_out_fallen else _sign_of_runaway(case)
    if sign is None and not case.is_good and not case.is_early:
        sign = _stuck_at_high_rate(case)
    if sign is None:
        return None
    factor = case.learning_rate_factor
    lower = setting(min(factor / 3, case.usual_factor))
    return Finding(
        kind="learning_rate_too_high",
        title=Message("Learning rate too high"),
        evidence=sign,
        advice=Message(
            "Learning rate: try {lower} (now {factor}), in a new run; a longer warm-up (now {steps:,} steps) helps "
            "too.",
            lower=lower,
            factor=setting(factor),
            steps=case.warmup_steps,
        ),
    )


def too_low(case: Case) -> Finding | None:
    """Say that the learning rate is too low, or that the warm-up takes most of the training.

    Innocent: a low rate at which the task is learnt all the same, or one that is still rising. Ruled out: the loss is
    no better than a table of counts, and the warm-up is over.
    """
    if case.is_good or not case.is_poor or case.rate_ratio is None:
        return None
    if case.warmup_steps > _LATE_WARMUP * case.steps and case.rate_ratio < 1:
        return Finding(
            kind="learning_rate_too_low",
            title=Message("Warm-up too long"),
            evidence=Message(
                "The warm-up is {warmup_steps:,} steps long and the training {steps:,}, so most of it runs at a low "
                "learning rate.",
                warmup_steps=case.warmup_steps,
                steps=case.steps,
            ),
            advice=Message("Warm-up: try {steps:,} steps, 10% of the training.", steps=max(1, case.steps // 10)),
        )
    if case.rate_ratio > _TOO_LOW_RATIO or case.is_rate_rising or case.trend == "rising":
        return None
    return Finding(
        kind="learning_rate_too_low",
        title=Message("Learning rate too low"),
        evidence=Message(
            "The peak learning rate was {rate}, {share} of the usual value for a width of {width:,}, "
            "and the loss falls slowly or not at all.",
            rate=number(case.highest_rate or 0.0),
            share=percent(case.rate_ratio),
            width=case.d_model,
        ),
        advice=Message(
            "Learning rate: try {usual} (now {factor}).",
            usual=setting(case.usual_factor),
            factor=setting(case.learning_rate_factor),
        ),
    )


def _sign_of_runaway(case: Case) -> Message | None:
    """The loss ends clearly above its best."""
    windows = [
        case.curves.losses(i * case.steps_done / _N_WINDOWS, (i + 1) * case.steps_done / _N_WINDOWS)
        for i in range(_N_WINDOWS)
    ]
    means = [fmean(window) if window else float("inf") for window in windows]
    best = min(range(_N_WINDOWS), key=means.__getitem__)
    rise = change(windows[best], windows[-1])
    if rise is None or not rise.is_rise:
        return None
    if rise.now - rise.before <= max(_RISE_NATS, _RISE_SHARE * rise.before):
        return None
    step = round((best + 1) * case.steps_done / _N_WINDOWS)
    return Message(
        "Training loss was {before} around step {step:,} and has risen to {now} since.",
        before=nats(rise.before),
        step=step,
        now=nats(rise.now),
    )


def _stuck_at_high_rate(case: Case) -> Message | None:
    """Little has been learnt, at a rate far above what is usual."""
    if case.rate_ratio is None or case.rate_ratio < _TOO_HIGH_RATIO or case.loss is None or not case.is_late:
        return None
    if not case.is_poor and case.loss < _LITTLE * (case.bigram or 0.0):
        return None
    if not case.is_poor and case.trend == "falling" and case.rate_ratio < _FAR_TOO_HIGH_RATIO:
        return None
    return Message(
        "The peak learning rate was {rate}, {times} the usual value for a width of {width:,}, "
        "and the loss is still {loss}.",
        rate=number(case.highest_rate or 0.0),
        times=times(case.rate_ratio),
        width=case.d_model,
        loss=nats(case.loss),
    )
