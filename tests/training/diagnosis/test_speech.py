"""What stands out in what the model writes."""

from tests.training.diagnosis.records import STEPS, evidence, falling, kinds, logged, measured, said, the
from transformer_core.training.diagnosis import Evidence, Sample, diagnose


def speaking(samples: list[Sample], **changes) -> Evidence:
    return evidence([*logged(falling(0.5)), measured(STEPS, 0.5)], samples=samples, **changes)


def test_sensible_outputs_need_no_word():
    assert kinds(speaking(said("one thing", "another thing", "a third", is_complete=True))) == ["well"]


def test_empty_outputs():
    found = the("ends_at_once", speaking(said("", " ", "a word")))
    assert found.severity == "problem"
    assert found.evidence.startswith("2 of 3 outputs are empty")
    assert "ends_at_once" not in kinds(speaking(said("", "", "a word", reference="")))
    assert "ends_at_once" not in kinds(speaking(said("", "two", "three")))
    assert kinds(speaking([])) == ["well"]


def test_outputs_without_an_end():
    cut = said("one and", "two or", "three but", is_complete=False)
    assert the("never_ends", speaking(cut)).evidence.startswith("3 of 3 outputs were cut off")
    assert kinds(speaking(cut, architecture="decoder_only")) == ["well"]  # it may go on as long as there is room
    assert kinds(speaking(said("one", "two", "three"))) == ["well"]  # not known


def test_one_output_for_everything():
    found = the("same_output", speaking(said("yes", "yes", "yes", "no")))
    assert found.evidence == "3 of 4 different sources get “yes”."
    assert "prompts" in the("same_output", speaking(said("yes", "yes", "yes"), architecture="decoder_only")).evidence
    assert kinds(speaking(said("yes", "yes"))) == ["well"]
    assert kinds(speaking([Sample(given="same", output="yes")] * 4)) == ["well"]
    assert kinds(speaking(said("yes", "yes", "yes", reference="yes"))) == ["well"]  # so it should


def test_outputs_in_circles():
    loops = [*said("the cat " * 10, "no it is " * 9)]
    found = the("repeats_itself", speaking(loops))
    assert found.severity == "note"
    assert "2 of 2 outputs" in found.evidence and "100%" in found.evidence
    assert "drawing at random" in found.advice
    poor = evidence([*logged(falling(3.0, half_life=40)), measured(STEPS, 3.0)], samples=loops)
    assert "at random" not in the("repeats_itself", poor).advice


def test_what_may_pass_is_no_problem_yet():
    way = [*logged(lambda step: 4.0 - step / 400, until=600), measured(600, 2.6)]
    for samples in (said("", ""), said("yes", "yes", "yes"), said("one", "two", is_complete=False)):
        found = diagnose(evidence(way, samples=samples))
        assert {finding.severity for finding in found} == {"note"}
        assert any(finding.kind in ("ends_at_once", "same_output", "never_ends") for finding in found)


def test_what_comes_of_a_problem_is_told_behind_it():
    rising = logged(lambda step: 4.0 - step / 200 if step < 400 else 2.0 + (step - 400) / 300)
    found = diagnose(evidence(rising, samples=said("", "", "")))
    assert [finding.kind for finding in found][:2] == ["learning_rate_too_high", "ends_at_once"]
    assert all(finding.advice.startswith("Mend the problem above") for finding in found[1:])
