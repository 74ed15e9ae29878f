"""`python -m transformer_core inspect`: statistics and baselines of a corpus."""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from headlight.corpora.analysis_process import CancellableWork, WatchedFolder
from headlight.corpora.analysis_process import Progress as WatchedProgress
from transformer_core.cli.progress import StatusLine
from transformer_core.cli.settings import READING_FIELDS, JoinedPaths, parse_settings
from transformer_core.config import Architecture
from transformer_core.corpora import CORPORA, CorpusReading
from transformer_core.errors import ConfigError

if TYPE_CHECKING:  # it imports torch
    from headlight.corpora.corpus_stats import CorpusStats

_WIDTH, _LONGEST_SAMPLE = 22, 90  # characters of the first column, and of a sample
_PRESETS: dict[Architecture, str] = {
    "encoder_decoder": "tiny",
    "decoder_only": "tiny-decoder",
    "encoder_only": "tiny-encoder",
}
_EXAMPLES = """\
settings:
  tokens      the tokenizer: auto, word, character or byte_bpe; or the folder of a Hugging Face tokenizer (./folder),
              or its id on the Hub (owner/name)
  division    how a text file is split into texts: auto, stretches, lines or stream; a stream is one continuous text,
              whose last tenth is the validation set
  vocab_size  maximum number of tokens
  skip_bad_lines  true: skip lines of a table without a pair or text, instead of refusing the file
  text_column, source_column, target_column  of a table or of parallel files; without them, by usual names
  header      auto, yes or no: of .csv and .tsv, whether the first line has the names of the columns

examples:
  python -m transformer_core inspect --corpus en-fr
  python -m transformer_core inspect --corpus notes.txt --set tokens=character --set division=stream
  python -m transformer_core inspect --corpus stories --architecture encoder_only --json

The result is cached, with the corpus, its tokenizer and its tokens, so that a training on it starts at once.
"""


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `inspect` to the commands."""
    parser = commands.add_parser(
        "inspect",
        help="print statistics and baselines of a corpus",
        description="Print statistics and baselines of a corpus.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--corpus",
        metavar="NAME",
        nargs="+",
        action=JoinedPaths,
        required=True,
        help=f"{', '.join(CORPORA)}; or text files, tables (.jsonl, .json, .csv, .tsv, .parquet), two parallel files "
        "(train.en train.fr) or a folder; or program:reverse, the task of an example program, or program:FOLDER, of a "
        "compiled model",
    )
    parser.add_argument(
        "--architecture",
        choices=get_args(Architecture),
        help="of the model to train on it (an encoder-decoder for pairs, a decoder for texts)",
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="any setting below; may be given several times"
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument(
        "--folder",
        metavar="FOLDER",
        type=Path,
        help="for programs: write progress and result to this folder, and stop when no program waits for them",
    )
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Print the statistics; return 0."""
    reading = _reading(options.set)
    from headlight.corpora.analysis import stats_of

    look = partial(stats_of, options.corpus, reading=reading, architecture=options.architecture)
    if options.folder is not None:
        _look_while_wanted(WatchedFolder(options.folder), look)
        return 0
    with StatusLine() as status:

        def show(n_done: int, n_in_all: int) -> None:
            if status.is_terminal:
                status.show_line(f"encoded {n_done:,} of {n_in_all:,}")

        stats = look(on_progress=show)
    print(stats.to_json() if options.json else "\n".join(_lines(stats)))
    if not options.json and options.corpus not in CORPORA:
        _warn(stats)
    return 0


def _warn(stats: "CorpusStats") -> None:
    from headlight.corpora.corpus_stats import check
    from transformer_core.model.presets import PRESETS
    from transformer_core.training.presets import preset_training

    preset = _PRESETS[stats.architecture]
    model, training = PRESETS[preset](stats.vocab_size), preset_training(preset, "")
    findings = check(stats, max_seq_len=model.max_seq_len, batch_size=training.batch_size)
    if findings:
        print(f"\nWorth knowing before it is trained on with --preset {preset}:")
    for finding in findings:
        print(textwrap.fill(str(finding.sentence), width=100, initial_indent="  ", subsequent_indent="    "))


def _look_while_wanted(folder: WatchedFolder, look: "Callable[..., CorpusStats]") -> None:
    """Write the result to a folder; stop when no reader waits for it."""
    with CancellableWork(folder) as watched:

        def begin(stage: str) -> None:
            watched.progress = WatchedProgress(stage=stage)

        def show(n_done: int, n_in_all: int) -> None:
            watched.progress = WatchedProgress(stage="encodes", n_done=n_done, n_in_all=n_in_all)

        watched.result = look(on_stage=begin, on_progress=show).to_json()


def _reading(assignments: Iterable[str]) -> CorpusReading:
    assigned = parse_settings(assignments)
    for name in (*assigned.model, *assigned.training):
        raise ConfigError(
            "{name} is not a corpus setting; available are {fields}", name=name, fields=", ".join(READING_FIELDS)
        )
    return CorpusReading(**assigned.reading)


def _lines(stats: "CorpusStats") -> Iterator[str]:
    """Yield the statistics as a table, then some samples."""
    yield f"{stats.title}: {stats.description}"
    yield ""
    learner = {"encoder_decoder": "an encoder-decoder", "decoder_only": "a decoder", "encoder_only": "an encoder"}
    kinds = {"word": "a word", "character": "a character", "byte_bpe": "some bytes that often come together"}
    kinds |= {"foreign": "as that tokenizer has it"}
    rows = {
        "for": learner[stats.architecture],
        "training set": f"{stats.n_train:,} {stats.items}, {stats.n_train_tokens:,} tokens",
        "validation set": f"{stats.n_held_out:,} {stats.items}, {stats.n_held_out_tokens:,} tokens",
        "one token is": f"{kinds[stats.tokenizer_kind]}; there are {stats.vocab_size:,}",
    }
    rows |= {
        f"tokens of a {side}": f"half have {lengths.median:,} or fewer, 95% {lengths.percentile_95:,} or fewer, "
        f"the longest {lengths.longest:,}"
        for side, lengths in stats.lengths.items()
    }
    rows |= {
        "unknown in validation": f"{stats.unknown_share:.2%} of the tokens",
        "unigram baseline": f"loss {stats.unigram_loss:.3f} nats per validation token",
        "bigram baseline": f"loss {stats.bigram_loss:.3f} nats per validation token",
        "most frequent tokens": "  ".join(f"{frequent.token} {frequent.count:,}" for frequent in stats.frequent[:8]),
    }
    yield from (f"  {name:<{_WIDTH}}  {value}" for name, value in rows.items())
    yield ""
    yield "Examples from the training set:"
    for sample in stats.samples:
        yield "  " + "  ->  ".join(map(_short, sample))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SAMPLE else f"{line[: _LONGEST_SAMPLE - 4]} ..."
