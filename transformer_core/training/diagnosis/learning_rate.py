"""Whether the learning rate was too high or too low, and whether gradients were clipped all the time."""

from statistics import fmean, median

from transformer_core.language import say
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.curves import change
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.wording import nats, number, percent, setting, times

_N_WINDOWS = 8  # pieces of the curve, the best of which is compared with the last
_RISE_NATS, _RISE_SHARE = 0.3, 0.1  # of a training loss over its best: far more than batches differ by
_SPIKE_NATS = 1.0  # over the median of the losses before: a step that undid many
_SPIKE_PAST = 10  # losses that a spike is compared with
_SPIKES = 3  # so many are no accident
_TIMES_CLIP, _OFTEN = 10.0, 0.1  # gradients so much longer than allowed, in this share of the steps, are a bad sign
_TOO_HIGH_RATIO = 4.0  # times the usual rate; at 5 times, a tiny model of ours came to 1.9 nats, at half to 0.1
_LITTLE = 0.5  # of the bigram entropy: a loss above it is little to show for such steps
_TOO_LOW_RATIO = 0.1  # of the usual learning rate: a tenth learns about ten times as slowly
_CLIPPED_MOSTLY = 0.9  # share of steps; fewer are what clipping is for
_LATE_WARMUP = 1 / 2  # of all steps: a warm-up that takes more leaves hardly any at the full rate


def too_high(case: Case) -> Finding | None:
    """Say that the learning rate is too high, and by which sign."""
    sign = _sign_of_runaway(case)
    if sign is None and not case.is_good and not case.is_early:
        sign = _spikes(case) or _long_gradients(case) or _stuck_at_high_rate(case)
    if sign is None:
        return None
    factor = case.evidence.learning_rate_factor
    lower = setting(min(factor / 3, case.usual_factor))
    return Finding(
        kind="learning_rate_too_high",
        title=say("Learning rate too high"),
        evidence=sign,
        advice=say(
            "Learning rate: try {lower} (now {factor}), in a new run; a longer Warm-up (now {steps:,} steps) helps "
            "too.",
            lower=lower,
            factor=setting(factor),
            steps=case.evidence.warmup_steps,
        ),
        severity="problem",
    )


def too_low(case: Case) -> Finding | None:
    """Say that the learning rate is too low, or that the warm-up takes most of the training."""
    evidence = case.evidence
    if case.is_good or not case.is_poor or case.rate_ratio is None:
        return None
    if evidence.warmup_steps > _LATE_WARMUP * evidence.steps and case.rate_ratio < 1:
        return Finding(
            kind="learning_rate_too_low",
            title=say("The warm-up is too long"),
            evidence=say(
                "The learning rate rises for {warmup_steps:,} steps, and the training has {steps:,}: most of it goes "
                "by at a low rate.",
                warmup_steps=evidence.warmup_steps,
                steps=evidence.steps,
            ),
            advice=say("Warm-up: try {steps:,} steps, a tenth of all.", steps=max(1, evidence.steps // 10)),
            severity="problem",
        )
    if case.rate_ratio > _TOO_LOW_RATIO or case.is_rate_rising or case.trend == "rising":
        return None
    return Finding(
        kind="learning_rate_too_low",
        title=say("Learning rate too low"),
        evidence=say(
            "At its highest the learning rate was {rate}, {share} of what is usual for a width of {width:,}, and the "
            "loss falls slowly or not at all.",
            rate=number(case.highest_rate or 0.0),
            share=percent(case.rate_ratio),
            width=evidence.d_model,
        ),
        advice=say(
            "Learning rate: try {usual} (now {factor}).",
            usual=setting(case.usual_factor),
            factor=setting(evidence.learning_rate_factor),
        ),
        severity="problem",
    )


def clipped(case: Case) -> Finding | None:
    """Say that nearly every gradient was shortened."""
    norms, clip_norm = _norms(case), case.evidence.clip_norm
    if case.is_good or not case.is_over or clip_norm is None or len(norms) < _SPIKE_PAST:
        return None
    share = fmean(norm > clip_norm for norm in norms)
    if share < _CLIPPED_MOSTLY:
        return None
    return Finding(
        kind="gradient_clipped",
        title=say("Nearly every gradient is clipped"),
        evidence=say(
            "In {share} of the steps behind the warm-up the gradient was longer than {clip_norm}, half of the time "
            "longer than {median}.",
            share=percent(share),
            clip_norm=setting(clip_norm),
            median=number(median(norms)),
        ),
        advice=say(
            "Clip norm: try {median}, so that only outliers are cut; Adam evens out most of the difference, so expect "
            "little of it alone.",
            median=setting(median(norms)),
        ),
        severity="note",
    )


def _sign_of_runaway(case: Case) -> str | None:
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
    return say(
        "Training loss was {before} around step {step:,} and has risen to {now} since.",
        before=nats(rise.before),
        step=step,
        now=nats(rise.now),
    )


def _spikes(case: Case) -> str | None:
    """The loss jumps up again and again."""
    steps = [step for step in case.curves.steps if step.step > case.evidence.warmup_steps]
    spikes = [
        steps[i]
        for i in range(_SPIKE_PAST, len(steps))
        if steps[i].loss > median(step.loss for step in steps[i - _SPIKE_PAST : i]) + _SPIKE_NATS
    ]
    if len(spikes) < _SPIKES:
        return None
    return say(
        "Training loss jumped by more than {jump} in {n} logged steps, the last time to {loss} at step {step:,}.",
        jump=nats(_SPIKE_NATS),
        n=len(spikes),
        loss=nats(spikes[-1].loss),
        step=spikes[-1].step,
    )


def _long_gradients(case: Case) -> str | None:
    """Gradients are far longer than what they are cut to, again and again, and nothing is learnt."""
    norms, clip_norm = _norms(case), case.evidence.clip_norm
    if clip_norm is None or len(norms) < _SPIKE_PAST or case.trend == "falling" or not case.is_poor:
        return None
    share = fmean(norm > _TIMES_CLIP * clip_norm for norm in norms)
    if share < _OFTEN:
        return None
    return say(
        "In {share} of the steps behind the warm-up the gradient was more than {times:.0f} times as long as the "
        "{clip_norm} that it is cut to, and the loss does not fall.",
        share=percent(share),
        times=_TIMES_CLIP,
        clip_norm=setting(clip_norm),
    )


def _stuck_at_high_rate(case: Case) -> str | None:
    """Little has been learnt, at a rate far above what is usual."""
    if case.rate_ratio is None or case.rate_ratio < _TOO_HIGH_RATIO or case.loss is None or not case.is_late:
        return None
    if not case.is_poor and case.bigram is not None and case.loss < _LITTLE * case.bigram:
        return None
    return say(
        "At its highest the learning rate was {rate}, {times} what is usual for a width of {width:,}, and the loss is "
        "still {loss}.",
        rate=number(case.highest_rate or 0.0),
        times=times(case.rate_ratio),
        width=case.evidence.d_model,
        loss=nats(case.loss),
    )


def _norms(case: Case) -> list[float]:
    return [
        step.gradient_norm
        for step in case.curves.steps
        if step.gradient_norm is not None and step.step > case.evidence.warmup_steps
    ]
