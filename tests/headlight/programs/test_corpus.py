"""The tasks of programs: labels against plain Python, tokens of the compiled model, and a user's programs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headlight.analysis.heads.program_heads import match_program
from headlight.cli.describing import describe_heads
from headlight.corpora.corpus_stats import made_from
from headlight.programs import EXAMPLES, Program
from headlight.programs import corpus as programs_corpus
from headlight.programs.checkpoint import save_compiled, write_program
from headlight.programs.corpus import program_corpus, program_training, train_arguments
from tests.headlight.programs.compiled_examples import example
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load
from transformer_core.cli.settings import parse_settings
from transformer_core.corpora import load_corpus
from transformer_core.corpora.corpus_tokenizer import tokenizer_of
from transformer_core.corpora.reading import AS_MADE, CorpusReading
from transformer_core.errors import CorpusError, ProgramError
from transformer_core.training.run.begin import begin
from transformer_core.training.run.directory import keep_run
from transformer_core.training.run.job import Job
from transformer_core.training.run.worker import work

EXPECTED: dict[str, Callable[[list[str]], list[str]]] = {
    "reverse": lambda x: x[::-1],
    "histogram": lambda x: [str(x.count(token)) for token in x],
    "shift": lambda x: ["_", *x[:-1]],
    "majority": lambda x: ["yes" if 2 * x[: i + 1].count("a") > i + 1 else "no" for i in range(len(x))],
    "fraction_previous": lambda x: [_fraction(x[: i + 1].count("a"), i + 1) for i in range(len(x))],
}


def _fraction(a: int, b: int) -> str:
    common = next(n for n in range(b, 0, -1) if a % n == b % n == 0)
    return f"{a // common}" if b == common else f"{a // common}/{b // common}"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if not request.node.get_closest_marker("training"):
        monkeypatch.setattr(programs_corpus, "N_TRAIN", 300)
        monkeypatch.setattr(programs_corpus, "N_HELD_OUT", 30)


@pytest.mark.parametrize("name", EXPECTED)
def test_labels_are_what_plain_python_gives(name: str):
    corpus = load_corpus(f"program:{name}")
    items = [*corpus.train, *corpus.held_out]
    assert (len(items), len(corpus.held_out)) == (330, 30)  # that none is in both, Corpus checks itself
    for item in items:
        tokens = item.text.split()
        assert list(item.labels) == EXPECTED[name](tokens)
        assert 1 <= len(tokens) <= 10
    assert max(len(item.labels) for item in items) == 10
    assert {*corpus.examples} <= {item.text for item in corpus.held_out}


@pytest.mark.parametrize("name", ["shift", "fraction_previous"])
def test_the_tokens_are_those_of_the_compiled_model(name: str):
    model, tokenizer = example(name)
    ours = tokenizer_of(load_corpus(f"program:{name}"), model.config.architecture)
    assert ours.to_json() == tokenizer.to_json()


def test_the_same_inputs_with_other_labels_are_another_corpus(tmp_path: Path):
    write_program(tmp_path / "a", Program(source="copied = map(lambda token: token, tokens)"))
    write_program(tmp_path / "b", Program(source='copied = map(lambda token: "a", tokens)'))
    one, other = (program_corpus(f"program:{tmp_path / name}") for name in "ab")
    assert [item.text for item in one.train] == [item.text for item in other.train]
    assert one.fingerprint != other.fingerprint
    write_program(tmp_path / "c", Program(source="copied = map(lambda token: token, tokens)", vocab=("a",), max_len=10))
    few = program_corpus(f"program:{tmp_path / 'c'}")  # a fifth of all the inputs that there are is held out
    assert (len(few.train), len(few.held_out)) == (8, 2)
    results = [program_corpus("program:reverse", seed=seed).fingerprint for seed in (0, 0, 1)]
    assert results[0] == results[1] != results[2]


def test_the_folder_of_a_compiled_model_has_the_same_task(tmp_path: Path):
    save_compiled(tmp_path / "mine", *example("shift"), title="Mine", examples=[])
    corpus = load_corpus(f"program:{tmp_path / 'mine'}")
    assert corpus.train == load_corpus("program:shift").train
    assert corpus.title == "Mine"
    assert made_from(corpus.name, AS_MADE, "decoder_only") == made_from("program:shift", AS_MADE, "decoder_only")
    assert made_from(corpus.name, AS_MADE, "decoder_only") != made_from("program:sort", AS_MADE, "decoder_only")


def test_what_there_is_not_is_said(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"“revers” is neither an example program nor .* reverse, sort"):
        load_corpus("program:revers")
    with pytest.raises(CorpusError, match="tokens of its program"):
        load_corpus("program:reverse", reading=CorpusReading(tokens="character"))
    two = "of_two = aggregate(select(tokens, tokens, lambda key, query: True), indices)"
    for program, message in (
        (Program(source=two), "no model can be trained"),
        (Program(source=EXAMPLES["shift"].source, vocab=("A",)), "“A” cannot be a token"),
    ):
        write_program(tmp_path / "mine", program)
        with pytest.raises(ProgramError, match=message):
            load_corpus(f"program:{tmp_path / 'mine'}")


def trained(folder: Path, name: str, *, steps: int) -> Job:
    """A training on the task of an example, done."""
    preset, settings = program_training(EXAMPLES[name], steps=steps)
    job = begin(folder, corpus_name=f"program:{name}", preset=preset, settings=settings)
    list(work(job))
    return job


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_trained_model_has_as_many_layers_and_at_least_as_many_heads_as_the_compiled_one(name: str):
    compiled = example(name)[0].config
    preset, settings = program_training(EXAMPLES[name])
    ours = settings.model
    assert preset == ("tiny-decoder" if EXAMPLES[name].is_causal else "tiny-encoder")
    assert ours["n_heads"] == max(4, compiled.n_heads)
    n_layers = {"n_decoder_layers": compiled.n_decoder_layers} if EXAMPLES[name].is_causal else {}
    n_layers = n_layers or {"n_encoder_layers": compiled.n_encoder_layers}
    assert {**ours, **n_layers} == ours
    assert ours["max_seq_len"] == compiled.max_seq_len


def test_the_command_line_says_the_same():
    program = EXAMPLES["shift"]
    words = train_arguments("program:shift", program, steps=7, seed=3)
    assert words[:4] == ["--corpus", "program:shift", "--preset", "tiny-decoder"]
    assert {*words[4::2]} == {"--set"}
    assert parse_settings(words[5::2]) == program_training(program, steps=7, seed=3)[1]


@pytest.mark.training
def test_a_model_learns_to_shift_and_its_head_attends_to_the_token_before(tmp_path: Path):
    job = trained(tmp_path / "run", "shift", steps=100)
    assert job.metrics["accuracy"] > 0.99
    keep_run(tmp_path / "run", tmp_path / "kept")
    describe_heads(tmp_path / "run", tmp_path / "kept", n_scored=16)
    model, tokenizer = load(tmp_path / "kept")
    card = read_card(tmp_path / "kept")
    assert card["corpus"]["name"] == "program:shift"
    assert {*card["metrics"]} == {"loss", "accuracy"}
    assert card["heads"][0]["previous"] > 0.5
    compiled, _ = example("shift")
    (head,) = match_program(compiled, model, tokenizer, job.corpus).heads
    assert head.is_convincing
    assert head.distance < 0.6 < head.by_chance
