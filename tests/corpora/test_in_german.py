"""What a person reads of a corpus, and of what is wrong with one, in German: whole sentences, with no English left."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.german import in_german
from transformer_core.corpora import CorpusReading, Pair, load_corpus
from transformer_core.corpora.batching import batches_for, refuse_misfit
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.corpora.storage.text_files import NoTextError, check_text_file
from transformer_core.corpora.storage.token_store import special_token
from transformer_core.corpora.storage.uploads import take_in
from transformer_core.errors import CorpusError
from transformer_core.language import speaking
from transformer_core.text.tokenizer import train_tokenizer

PAIRS = (Pair("ab", "ba"), Pair("abcdefgh", "ba"))


def in_both(act: Callable[[], object]) -> tuple[str, str]:
    """Return the sentence of the error that something ends with, in English and in German."""
    with pytest.raises(CorpusError) as caught:
        act()
    return str(caught.value), in_german(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "english", "german"),
    [
        (
            "paper.pdf",
            b"%PDF-1.7 ...",
            "paper.pdf is a PDF, not plain text; copy its text into a text file, and use that file",
            ("paper.pdf ist ein PDF, kein reiner Text; kopiere den Text in eine Textdatei und nimm diese"),
        ),
        (
            "table.xlsx",
            b"PK\x03\x04 ...",
            "table.xlsx is an Excel workbook, not plain text; save the sheet as .csv, and use that file",
            "table.xlsx ist eine Excel-Arbeitsmappe, kein reiner Text; speichere das Blatt als .csv und nimm diese "
            "Datei",
        ),
        (
            "poem.txt",
            "Grün ".encode() * 60 + b"Gr\xfcn\n",
            "poem.txt, line 1: the byte 0xFC is not valid UTF-8, but the rest of the text is; correct that line, or "
            "save the text again as UTF-8",
            (
                "poem.txt, Zeile 1: Das Byte 0xFC ist kein gültiges UTF-8, aber der übrige Text schon; "
                "verbessere diese Zeile oder speichere den Text noch einmal als UTF-8"
            ),
        ),
        (
            "words.csv",
            b"one,eins\ntwo\n",
            (
                "words.csv: 1 of 2 lines is not a pair (line 2 has only one column); each line must "
                "contain a source, a comma or semicolon, and a target; correct that line, or skip it "
                "with skip_bad_lines=true"
            ),
            (
                "words.csv: 1 von 2 Zeilen ist kein Paar (Zeile 2 hat nur eine Spalte); jede Zeile muss "
                "aus Quelle, Komma oder Semikolon und Ziel bestehen; korrigiere diese Zeile oder "
                "überspringe sie mit skip_bad_lines=true"
            ),
        ),
        (
            "words.tsv",
            b"one\teins\ntwo zwei\n",
            (
                "words.tsv: 1 of 2 lines is not a pair (line 2 has only one column); each line must "
                "contain a source, a tab and a target; correct that line, or skip it with "
                "skip_bad_lines=true"
            ),
            (
                "words.tsv: 1 von 2 Zeilen ist kein Paar (Zeile 2 hat nur eine Spalte); jede Zeile muss "
                "aus Quelle, Tabulator und Ziel bestehen; korrigiere diese Zeile oder überspringe sie "
                "mit skip_bad_lines=true"
            ),
        ),
        (
            "",
            b"",
            "the text is empty; use a text file",
            "der Text ist leer; nimm eine Textdatei",
        ),
        (
            "short.txt",
            b"only this line\n",
            "short.txt contains only one line, but at least 2 different ones are needed, one for training and one held "
            "out; add more, or at least 200 bytes of text, so that its end can be held out",
            (
                "short.txt enthält nur eine Zeile, aber mindestens 2 verschiedene werden gebraucht, eine "
                "zum Trainieren und eine zum Zurückhalten; nimm mehr, oder mindestens 200 Bytes Text, "
                "damit das Ende zurückgehalten werden kann"
            ),
        ),
    ],
)
def test_what_is_not_taken_in(tmp_path: Path, name: str, content: bytes, english: str, german: str):
    assert in_both(lambda: take_in(content, name, tmp_path)) == (english, german)
    assert not list(tmp_path.iterdir())


def test_what_was_done_on_the_way(tmp_path: Path):
    content = "one;eins;1\ntwo;zwölf;2\n".encode("cp1252")
    taken = take_in(content, "Wörter.csv", tmp_path)
    assert in_german(taken.remark) == (
        "Wörter.csv war kein UTF-8 und wurde als Windows-1252 (Latin-1) gelesen; gespeichert "
        "wird der Text als UTF-8. Wörter.csv wird als Wörter.tsv gespeichert, mit Tabulatoren "
        "zwischen den Spalten."
    )
    assert str(take_in(content, "Wörter.csv", tmp_path).remark) == (
        "Wörter.csv was not UTF-8 and was read as Windows-1252 (Latin-1); it is stored as UTF-8. "
        "Wörter.csv is stored as Wörter.tsv, with tab-separated columns."
    )


def test_a_nameless_text_has_the_same_file_in_every_language(tmp_path: Path):
    english = take_in(b"one\ntwo\n", "", tmp_path).path
    with speaking("de"):
        assert take_in(b"one\ntwo\n", "", tmp_path).path == english
    assert english.name == "the text.txt"


def test_what_a_corpus_is(tmp_path: Path):
    lines = "".join(f"line {i}\n" for i in range(1200))
    (tmp_path / "lines.txt").write_text(lines)
    (tmp_path / "two.tsv").write_text("a\tb\nc\td\n")
    (tmp_path / "folder").mkdir()
    for i in range(40):
        (tmp_path / "folder" / f"{i}.txt").write_text(f"text {i}")
    (tmp_path / "folder" / "empty.txt").touch()
    for name, reading, german in (
        (
            "lines.txt",
            CorpusReading(division="lines"),
            "1\u202f140 Zeilen aus lines.txt (10.9 kB); 60 weitere sind zurückgehalten.",
        ),
        (
            "lines.txt",
            CorpusReading(division="stream"),
            "Ein durchgehender Text aus lines.txt (10.9 kB); die letzten 10\u00a0% sind zurückgehalten.",
        ),
        ("two.tsv", CorpusReading(), "1 Paar aus two.tsv (0.0 kB); zurückgehalten ist 1 mehr."),
        (
            "folder",
            CorpusReading(),
            (
                "38 Texte, einer je Datei, aus folder (0.3 kB); 2 weitere sind zurückgehalten. "
                "Übersprungene Dateien ohne Text: 1."
            ),
        ),
    ):
        corpus = open_corpus(tmp_path / name, reading)
        assert in_german(corpus.description) == german
    english = str(open_corpus(tmp_path / "two.tsv").description)
    assert english == "1 pair, from two.tsv (0.0 kB); 1 more is held out."


def test_what_a_model_cannot_learn_from(tmp_path: Path):
    assert in_both(lambda: refuse_misfit(PAIRS, "decoder_only"))[1] == (
        "dieser Korpus besteht aus Paaren, aber ein reiner Decoder braucht Texte; wähle einen "
        "Encoder-Decoder oder einen Korpus aus Texten (eine Textdatei oder einen Ordner mit "
        "Textdateien)"
    )
    assert in_both(lambda: special_token(None, "masks another")) == (
        "this tokenizer has no mask token, which training needs; choose another tokenizer",
        ("dieser Tokenizer hat kein Masken-Token, und das Training braucht eines; wähle einen anderen Tokenizer"),
    )
    tokenizer = train_tokenizer(["abcdefgh"], kind="character")

    def too_long() -> None:
        batches_for(PAIRS, tokenizer, "encoder_decoder", max_seq_len=4, batch_size=2, seed=0)

    assert in_both(too_long) == (
        (
            "the source on line 2 has 9 tokens, including <eos>, and the model takes at most 4; "
            "shorten that line, or raise max_seq_len"
        ),
        (
            "die Quelle in Zeile 2 hat 9 Token, <eos> mitgezählt, und das Modell nimmt höchstens 4; "
            "kürze diese Zeile oder erhöhe max_seq_len"
        ),
    )


def test_what_is_not_there(tmp_path: Path):
    english, german = in_both(lambda: load_corpus("revers"))
    assert english.startswith(
        "there is no corpus 'revers', and no file or folder of that name; did you mean 'reverse'?"
    )
    assert german == (
        "es gibt keinen Korpus 'revers' und keine Datei und keinen Ordner dieses Namens; meinst "
        "du 'reverse'? Verfügbar sind copy, reverse, sort, addition, dates, brackets, en-fr, "
        "induction, stories"
    )
    (tmp_path / "empty.txt").touch()
    with pytest.raises(NoTextError) as no_text:
        check_text_file(tmp_path / "empty.txt")
    assert in_german(no_text.value).endswith("empty.txt ist leer")
    _, german = in_both(lambda: open_corpus(tmp_path))
    assert re.match(r"der Ordner .* enthält keinen Text \(.*empty\.txt ist leer\); lege Textdateien", german)
