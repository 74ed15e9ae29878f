"""The Models page under AppTest: what it shows of each kind of model, taking in, handing out, deleting, and damage."""

import io
import json
import os
import pickle
import re
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.models import model_store
from pages.models.model_store import ImportRequest
from pages.models.models import details, proof
from pages.shared import downloads, models
from tests.checkpoints import foreign
from tests.checkpoints.layouts.test_nanogpt import weights_of
from tests.pages.conftest import EXAMPLES, OpenApp, view_of, words_of
from tests.pages.small_gpt2 import save_small_gpt2
from transformer_core.errors import CheckpointError
from transformer_core.text.ids import IdTokenizer


@pytest.fixture
def place(three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's models, which may be changed: "en-fr", "gaps" and "tales"."""
    shutil.copytree(three_kinds, tmp_path / "checkpoints")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "checkpoints"))
    return tmp_path / "checkpoints"


@pytest.fixture
def open_models(open_app: OpenApp) -> OpenApp:
    """Opens the page, as a new visitor."""

    def open_at(**parameters: str) -> AppTest:
        app = open_app("models", **parameters)
        assert not app.exception
        return app

    return open_at


@pytest.fixture(scope="session")
def small_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder."""
    folder = tmp_path_factory.mktemp("foreign") / "Small GPT"
    save_small_gpt2(folder)
    return folder


def button(app: AppTest, label: str) -> bool:
    return any(button.label == label for button in app.button)


def click(app: AppTest, label: str) -> AppTest:
    """Click the button of this label; there is one."""
    (actual,) = [button for button in app.button if button.label == label]
    app = actual.click().run()
    assert not app.exception
    return app


def pressed(app: AppTest, key: str) -> AppTest:
    app = app.button(key=key).click().run()
    assert not app.exception
    return app


def bring_in(app: AppTest, source: str) -> AppTest:
    (box,) = [box for box in app.text_input if box.label.startswith("Id on the Hugging Face Hub")]
    box.set_value(source)
    return pressed(app, "import-path")


def warnings_of(app: AppTest) -> str:
    return "\n".join(warning.value for warning in app.warning)


def in_tab(app: AppTest, label: str) -> AppTest:
    """Open a tab of the chosen model."""
    app.session_state[f"models-tabs-{view_of(app)['model']}"] = label
    return app.run()


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


@pytest.mark.parametrize(
    ("name", "stacks", "kind"),
    [
        ("en-fr", {"encoder", "decoder", "end"}, "Transforms one text into another"),
        ("gaps", {"encoder"}, "Fills in the blanks of a text"),
        ("tales", {"decoder"}, "Continues a text"),
    ],
)
def test_one_from_all_sides(name: str, stacks: set[str], kind: str, place: Path, open_models: OpenApp):
    app = open_models(model=name)
    model, tokenizer = tc.load(place / name)
    card = models.available()[name]
    assert {stack for stack, *_ in details.parameters_of(card)} <= stacks
    assert f"{sum(parameter.numel() for parameter in model.parameters()):,} parameters" in words_of(app)
    assert f"{kind}: " in words_of(app) and "3 models" in words_of(app)
    assert "<code>d_model</code></td><td>16</td>" in words_of(in_tab(app, "Configuration"))
    (tokens,) = in_tab(app, "Tokenizer").dataframe
    assert len(tokens.value) == tokenizer.vocab_size
    assert json.loads(in_tab(app, "Card").json[0].value) == json.loads((place / name / "card.json").read_text())
    choices = {str(button.key) for button in app.button if str(button.key).startswith("choose-")}
    assert choices == {f"choose-{other}" for other in names(place) if other != name}
    assert not app.warning and [part.label for part in app.expander] == ["Options"]


def test_a_folder_is_brought_in_and_chosen(
    place: Path, small_gpt2: Path, monkeypatch: pytest.MonkeyPatch, open_models: OpenApp
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(place / "none"))
    app = open_models()
    assert "There is no trained model yet. Import one below" in app.info[0].value
    app = bring_in(app, f"  {small_gpt2} ")
    assert app.info[0].value == "“Small GPT” was imported and is now chosen on all pages."
    assert view_of(app)["model"] == "small-gpt" and "your own" in words_of(app)
    again = bring_in(app, str(small_gpt2))
    assert names(place / "none") == ["small-gpt", "small-gpt-2"]
    assert "Small GPT (small-gpt-2)" in again.info[0].value


def test_what_cannot_be_had_or_is_no_model(place: Path, open_models: OpenApp, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    app = open_models()
    for source, sentence in (
        ("someone/something", "someone/something"),
        ("<b>x</b> **x** $y$", "there is no file or folder"),
    ):
        (warning,) = bring_in(app, source).warning
        assert warning.value.startswith("This model could not be imported: ") and sentence in warning.value
    assert "zip file cannot be read" in warnings_of(upload(app, "photo.zip", b"GIF89a"))
    for name, content, sentence in (
        ("notes.txt", b"Hello", "notes.txt is neither a safetensors file nor one of torch.save"),
        ("notes.pt", b"Hello", "notes.pt"),
        ("ckpt.pt", b"", "ckpt.pt is empty"),
        ("meta.pkl", pickle.dumps({"stoi": {}}), "meta.pkl contains the vocabulary of a model"),
        ("none.zip", b"PK\5\6" + bytes(18), "neither config.json nor weights"),
    ):
        with pytest.raises(CheckpointError, match=sentence) as refused:
            ImportRequest(files={name: io.BytesIO(content)}).run(lambda *_: None)
        assert "zip file cannot" not in str(refused.value)
    packed = zip_of(models.available()["tales"])
    with pytest.raises(CheckpointError, match="zip file cannot be read"):
        model_store.unpack(io.BytesIO(packed[:-100]), "cut")
    assert names(place) == ["en-fr", "gaps", "tales"]


def upload(app: AppTest, name: str, content: bytes, **more: bytes) -> AppTest:
    for its_name, its_content in {name: content, **more}.items():
        app.file_uploader[0].upload(its_name, its_content)
    return pressed(app, "import-upload")


def test_the_files_of_a_model_are_chosen_together(small_gpt2: Path, place: Path, open_models: OpenApp):
    files = {path.name: path.read_bytes() for path in small_gpt2.iterdir()} | {"README.md": b"#"}
    app = upload(open_models(), "notes.txt", b"", **files)
    assert "“model” was imported" in app.info[0].value
    model, tokenizer = tc.load(place / "model")
    theirs, its_tokenizer = tc.load(small_gpt2)
    assert tokenizer.encode("the cat sees") == its_tokenizer.encode("the cat sees")
    assert torch.equal(*(one.get_parameter("decoder.blocks.0.mlp.up.weight") for one in (model, theirs)))
    del files["config.json"]
    assert "import-discard" in {button.key for button in upload(open_models(), "notes.txt", b"", **files).button}


def test_an_import_that_is_cancelled_leaves_nothing(small_gpt2: Path, place: Path):
    def cancel(*_: object) -> None:
        raise KeyboardInterrupt  # as a run of the page that a press on Cancel replaces

    before = sorted(place.rglob("*"))
    files = {path.name: io.BytesIO(path.read_bytes()) for path in small_gpt2.iterdir()}
    for request in (ImportRequest(files=files), ImportRequest(source=str(small_gpt2))):
        with pytest.raises(KeyboardInterrupt):
            request.run(cancel)
        assert sorted(place.rglob("*")) == before
    assert ImportRequest(files=files).run(lambda *_: None) == "model"


def saved(weights: dict[str, torch.Tensor]) -> bytes:
    """A file of `torch.save`."""
    torch.save(weights, file := io.BytesIO())
    return file.getvalue()


def test_what_the_files_leave_open_is_chosen_by_the_loss(place: Path, open_models: OpenApp):
    """The files are not uploaded again."""
    app = upload(open_models(), "mine.pt", saved(weights_of(bias=True)))
    assert "mine.pt: layout of nanoGPT" in words_of(app)
    boxes = {box.label: box for box in app.selectbox}
    assert "3" in boxes["n_heads"].options and not app.file_uploader
    assert app.session_state["import-pending"][1].__traceback__ is None, "it would keep the weights"
    box = next(box for box in app.text_area if box.label == "Text similar to the training data")
    app = box.set_value("5 9\t13 60 2 4").run()
    app = click(app, "Compare the losses")
    rows = re.findall(r"<tr class='(.*?)'><td>(.*?)</td>.*?(\d+\.\d+)", words_of(app))
    assert [look for look, *_ in rows] == ["hl-lowest"] + [""] * (len(rows) - 1)
    assert (losses := [float(loss) for *_, loss in rows]) == sorted(losses)
    assert "losses do not determine n_heads" in words_of(app), "the model was never trained"
    assert app.selectbox(key="import-answer-n_heads-box").value is None
    app.selectbox(key="import-answer-n_heads-box").set_value(3).run()
    app.selectbox(key="import-convention-activation-box").set_value("gelu").run()
    app = pressed(app, "import-answers")
    assert "“mine” was imported" in app.info[0].value and app.file_uploader
    config = tc.load(place / "mine")[0].config
    assert (config.n_heads, config.activation) == (3, "gelu")
    app.text_area(key="import-options-box").set_value("n_heads").run()
    app = upload(app, "mine.pt", saved(weights_of(bias=True)))
    assert "An option is NAME=VALUE" in app.warning[0].value
    app.text_area(key="import-options-box").set_value("n_heads = 2\nactivation = relu").run()
    app = upload(app, "mine.pt", saved(weights_of(bias=True)))
    config = tc.load(place / "mine-2")[0].config
    assert (config.n_heads, config.activation) == (2, "relu") and not app.text_area(key="import-options-box").value


def test_an_unknown_layout_is_mapped(place: Path, open_models: OpenApp):
    weights = {name.replace("c_attn", "mix"): weight for name, weight in weights_of(bias=True).items()}
    app = upload(open_models(), "mine.pt", saved(weights | {"more": torch.ones(2, 2, 2)}))
    assert "The nearest known layout is nanoGPT" in words_of(app)
    (box,) = [box for box in app.text_area if box.label == "Mapping"]
    assert box.value and "more = ?" in box.value and "replace ? by a name of ours" in words_of(app)
    assert "transformer.h.*.attn.mix.bias = decoder.blocks.*.self_attn.{q,k,v}.bias  # by shape" in box.value
    assert app.button(key="import-mapping-button").disabled
    app = box.set_value(box.value.replace("more = ?", "more = -")).run()
    app = pressed(app, "import-mapping-button")
    questions = {box.label: str(box.key) for box in app.selectbox if str(box.key).startswith("import-answer-")}
    assert questions.keys() >= {"n_heads", "norm_position", "activation"} and app.button(key="import-answers").disabled
    for key in questions.values():
        app = app.selectbox(key=key).select_index(0).run()
    app = pressed(app, "import-answers")
    assert "“mine” was imported" in app.info[0].value
    assert torch.equal(tc.load(place / "mine")[0].unembed.weight, weights["lm_head.weight"])
    app = pressed(upload(open_models(), "mine.pt", saved(weights)), "import-discard")
    assert app.file_uploader and "nearest known layout" not in words_of(app)


def zip_of(card: models.ModelCard) -> bytes:
    """The file that the page hands out."""
    answer = TestClient(Starlette(routes=[downloads.ROUTE])).get(downloads.address(card))
    assert answer.status_code == 200
    return answer.content


def test_what_is_handed_out_can_be_taken_in_but_not_under_the_name_of_a_shipped_model(
    place: Path, open_models: OpenApp
):
    packed = zip_of(models.available()["tales"])
    assert "“Tales (tales-1)” was imported" in upload(open_models(), "tales (1).zip", packed).info[0].value
    weights = [(place / name / "model.safetensors").read_bytes() for name in ("tales", "tales-1")]
    assert weights[0] == weights[1]
    (place.parent / "Packed.zip").write_bytes(packed)
    assert ImportRequest(source=str(place.parent / "Packed.zip")).run(lambda *_: None) == "packed"
    assert model_store.unpack(io.BytesIO(packed), "Stories") == "stories-2"


def test_two_visitors_never_get_the_same_name(place: Path):
    packed = zip_of(models.available()["gaps"])
    with ThreadPoolExecutor(3) as visitors:
        given = list(visitors.map(lambda _: model_store.unpack(io.BytesIO(packed), "Mine"), range(3)))
    assert sorted(given) == ["mine", "mine-2", "mine-3"]
    assert {*given} < models.available().keys() and not [*place.glob(".*")]


def test_names_stay_within_the_folder(place: Path):
    before, packed = names(place.parent), zip_of(models.available()["gaps"])
    for name in ("../../evil", ".hidden", "", "a" * 300, "x\ny"):
        given = model_store.unpack(io.BytesIO(packed), name)
        assert given in names(place) and given in models.available()
    assert names(place.parent) == before
    for name in ("../checkpoints/tales", "..", "", "."):
        with pytest.raises(CheckpointError):
            model_store.delete(name)
    assert {"en-fr", "gaps", "tales"} < {*names(place)}


def test_a_card_that_makes_no_sense(place: Path):
    source = io.BytesIO(zip_of(models.available()["gaps"]))
    with zipfile.ZipFile(source) as packed:
        files = {name: packed.read(name) for name in packed.namelist()} | {"gaps/card.json": b'{"metrics": 1}'}
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    with pytest.raises(CheckpointError, match="does not match the format"):
        model_store.unpack(changed, "new")
    assert names(place) == ["en-fr", "gaps", "tales"]


def test_deleting(place: Path, open_models: OpenApp):
    app = click(open_models(model="tales"), "Delete …")
    kinds = {button.label: button.proto.type for button in app.button}
    assert (kinds["Delete it"], kinds["Keep it"]) == ("secondary", "primary")  # for a hasty click
    assert (place / "tales").is_dir()
    app = click(app, "Delete it")
    assert names(place) == ["en-fr", "gaps"]
    assert app.info[0].value == "“Tales” was deleted."
    assert view_of(app)["model"] == "en-fr" and app.text_input(key="text-line").value == EXAMPLES[0]
    shutil.copytree(place / "gaps", place / "tales")
    app = open_models(model="tales")
    shutil.rmtree(place / "tales")  # by somebody else
    app.run()
    assert not app.exception
    assert "There is no model “tales” here" in words_of(app) and "2 models" in words_of(app)
    app = click(open_models(model="gaps"), "Delete …")
    shutil.rmtree(place / "gaps")
    app = click(app, "Delete it")
    assert app.info[0].value.startswith("“Gaps” was not deleted: there is no model in ")


def test_what_comes_with_headlight_stays(monkeypatch: pytest.MonkeyPatch, open_models: OpenApp):
    monkeypatch.delenv("HEADLIGHT_CHECKPOINTS", raising=False)
    app = open_models(model="en-fr")
    assert "included with Headlight" in words_of(app)
    assert not button(app, "Delete …")
    with pytest.raises(CheckpointError, match="included with Headlight; only your own"):
        model_store.delete("en-fr")
    assert (models.ROOT / "checkpoints" / "en-fr" / "config.json").is_file()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_says_so(place: Path):
    (place / "gaps").chmod(0)
    (place / "tales" / "config.json").chmod(0)
    try:
        cards = models.available()
        payload = {folder.name: (folder.reason, folder.can_be_deleted) for folder in model_store.unusable(cards)}
        with pytest.raises(CheckpointError, match=r"gaps cannot be deleted \(Permission denied\); delete it manually"):
            model_store.delete("gaps")
    finally:
        (place / "gaps").chmod(0o755)
    assert [*cards] == ["en-fr"]
    why = "It cannot be read (Permission denied)."
    assert payload == {"gaps": (why, False), "tales": (why, True)}


def test_folders_that_are_no_models(place: Path, small_gpt2: Path, open_models: OpenApp):
    shutil.copytree(small_gpt2, place / "gpt")
    (place / "empty").mkdir()
    (place / "notes.txt").write_text("not a folder")
    shutil.copytree(place / "gaps", place / "torn")
    (place / "torn" / "card.json").write_text("[" * 100_000)
    shutil.copytree(place / "gaps", place / "half")
    (place / "half" / "model.safetensors").unlink()
    shutil.copytree(place / "gaps", place / "odd")
    (place / "odd" / "card.json").write_text('{"heads": [{}]}')
    app = open_models()
    assert "5 folders are not usable models" in [part.label for part in app.expander]
    reasons = {folder.name: folder.reason for folder in model_store.unusable(models.available())}
    payload = {"empty": "no model.safetensors", "gpt": "a Hugging Face folder", "half": "no model.safetensors"}
    payload |= {"odd": "does not match the format", "torn": "card.json is nested too deeply"}
    assert all(words in reasons[name] for name, words in payload.items())
    deletable = {str(button.key) for button in app.button if str(button.key).startswith("delete-")}
    assert deletable == {"delete-en-fr", "delete-gpt", "delete-torn", "delete-half", "delete-odd"}
    app.button(key="bring-in-gpt").click().run()
    assert "“Small GPT”" not in app.info[0].value
    assert view_of(app)["model"] == "gpt-2"
    app.button(key="delete-half").click().run()
    app = click(app, "Delete it")
    assert "half" not in names(place) and view_of(app)["model"] == "gpt-2", "the chosen model stays"


def test_a_model_that_cannot_be_loaded_can_be_deleted(place: Path, open_models: OpenApp):
    weights = place / "tales" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    app = open_models(model="tales")
    assert "This model cannot be used" in warnings_of(app)
    assert "This cannot be shown" in warnings_of(app)
    assert "trained on en-fr" in words_of(app)
    app = click(click(app, "Delete …"), "Delete it")
    assert names(place) == ["en-fr", "gaps"]


@pytest.mark.usefixtures("checkpoints")
def test_shares_are_percents_of_all_the_parameters_that_its_weights_have(two_models: Path):
    model, _ = tc.load(two_models / "en-fr")
    _, _, counts, shares = zip(*details.parameters_of(models.available()["en-fr"]), strict=True)
    n = sum(weights.numel() for weights in model.parameters())
    assert sum(counts) == n and sum(shares) == pytest.approx(1)
    assert shares == pytest.approx([of_part / n for of_part in counts])


@pytest.mark.usefixtures("checkpoints")
def test_a_token_is_found_by_any_part_in_any_case_or_by_its_whole_number(
    two_models: Path, monkeypatch: pytest.MonkeyPatch
):
    _, tokenizer = tc.load(two_models / "en-fr")
    card, labels = models.available()["en-fr"], tokenizer.labels(range(tokenizer.vocab_size))
    every, n = details.token_table(card)
    assert every["token"].tolist() == labels and every["number"].tolist() == [*range(n)] and n == len(labels)
    for wanted in ("CAT", " at ", "12", "("):
        part = wanted.strip()
        expected = [i for i, label in enumerate(labels) if part.lower() in label.lower() or part == str(i)]
        assert details.token_table(card, wanted)[0]["number"].tolist() == expected
    monkeypatch.setattr(details, "MAX_TOKENS_SHOWN", 3)
    table, n_found = details.token_table(card)
    assert (table["number"].tolist(), n_found) == ([0, 1, 2], n), "the first few, and how many there are"
    roles = {role: number for number, role in enumerate(every["role"]) if role}
    assert roles["padding"] == tokenizer.pad_id and roles["unknown"] == tokenizer.unk_id
    assert roles["begin of sequence"] == tokenizer.bos_id and roles["end of sequence"] == tokenizer.eos_id


@pytest.mark.usefixtures("checkpoints")
def test_the_tokens_of_two_vocabularies_are_listed_by_side(two_models: Path, monkeypatch: pytest.MonkeyPatch):
    config = tc.presets.tiny(9).changed(src_vocab_size=20, tie_embeddings="none")
    monkeypatch.setattr(details, "tokenizer_of", lambda *_: IdTokenizer.of(config))
    card = replace(models.available()["en-fr"], version="of two vocabularies")
    table, n = details.token_table(card)
    assert n == 29 and table["side"].tolist() == ["source"] * 20 + ["target"] * 9
    assert details.token_table(card, "15")[0]["side"].tolist() == ["source"]


def test_the_lines_of_the_proof_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], place: Path):
    """They print the differences to the model of the `transformers` library."""
    foreign.save_small("gpt2", tmp_path / "source")
    name = ImportRequest(source=str(tmp_path / "source")).run(lambda *_: None)
    card = model_store.whole_card(str(place / name))
    code = proof.lines(str(place / name), card["source"]["name"], card["format"], tc.load(place / name)[0].config)
    exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("decoder.blocks.0.hook_resid_pre") and printed[-1].startswith("No difference: ")
    assert f"sys.path.append({str(models.APP)!r})" in code
    formats = ("nanogpt", "raschka_gpt", "lecture_gpt", "other")
    for model_format, base in (*((name, "") for name in formats), ("gpt2", "c'/\nimport os")):
        code = proof.lines("a", "b'/\nimport os", model_format, tc.ModelConfig(vocab_size=9), base)
        compile(code, "lines", "exec")
        assert "\nimport os" not in code, "a name that an uploaded card has"
        assert ("PeftModel" in code) == bool(base)
