"""Weights of a trained model for a model with another vocabulary, compared with rows that are looked up one by one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from shared.dataset import Dataset
from shared.errors import UserError
from shared.features import preset
from shared.files import write_json
from shared.languages import language_id
from shared.vocabulary import END_ID, PAD_ID, UNKNOWN_ID, Vocabulary
from tests.trainer.models import NARROW
from trainer.checkpoint.checkpoint import (
    Progress,
    Snapshot,
    copy_to_host,
    named_variables,
    write_checkpoint,
    write_snapshot,
)
from trainer.checkpoint.pretrained import (
    EMBEDDING_SUFFIX,
    _adapted_rows,
    check_pretrained,
    load_pretrained,
    open_pretrained,
    prepare_run,
)
from trainer.checkpoint.run_dir import (
    RunInfo,
    build_model,
    prepare_run_info,
    read_run_info,
    run_vocabulary,
    write_run_files,
)
from trainer.config.model_config import ModelConfig
from trainer.config.model_sizes import SIZES
from trainer.config.rate_factors_config import RateFactorsConfig
from trainer.config.train_config import TrainConfig
from trainer.data.position import Position
from trainer.data.reference_length import ReferenceLength
from trainer.data.speech_pace import SpeechPace
from trainer.model.xtts import XTTS
from trainer.optim.ema import average_name

SPECIAL = {PAD_ID: "<pad>", END_ID: "</s>", UNKNOWN_ID: "<unk>"}
ENGLISH, GERMAN, POLISH = (language_id(code) for code in ("eng_Latn", "deu_Latn", "pol_Latn"))
CONFIG = TrainConfig(model=ModelConfig(size="pico", precision="float32", crop_frames=24))


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "pico", NARROW)


def test_a_row_is_the_tokens_own_or_the_mean_of_what_the_token_is_made_of_or_fresh() -> None:
    known = Vocabulary({**SPECIAL, 10: "a", 11: "b", 12: "ab", ENGLISH: "eng_Latn", GERMAN: "deu_Latn"})
    vocabulary = Vocabulary({**SPECIAL, 9: "aab", 11: "b", 13: "bc", ENGLISH: "eng_Latn", POLISH: "pol_Latn"})
    rows = np.arange(len(known), dtype=np.float32)[:, None] * [1.0, 10.0]
    fresh = np.full([len(vocabulary), 2], -1.0, np.float32)
    row = dict(zip(known.pieces, rows, strict=True))
    expected = {
        **{piece: row[piece] for piece in ("<pad>", "</s>", "<unk>", "b", "eng_Latn")},
        "aab": (row["a"] + row["ab"]) / 2,  # the fewest pieces
        "bc": fresh[0],  # nothing is known of c
        "pol_Latn": (row["eng_Latn"] + row["deu_Latn"]) / 2,
    }
    adapted = _adapted_rows(rows, fresh, known=known, vocabulary=vocabulary)
    assert {piece: list(one) for piece, one in zip(vocabulary.pieces, adapted, strict=True)} == {
        piece: list(one) for piece, one in expected.items()
    }


def make_run(run: Path, *, dataset: Dataset) -> XTTS:
    """A run whose checkpoint has random averages; the weights themselves are others."""
    write_run_files(run, prepare_run_info(run, config=CONFIG, dataset=dataset), dataset=dataset)
    contract = dataset.info.contract
    model = build_model(CONFIG, contract=contract, vocabulary=Vocabulary.load(dataset.layout.vocabulary))
    random = np.random.default_rng(3)
    for variable in model.variables:
        variable.assign(random.normal(size=variable.shape).astype(np.float32))
    arrays = copy_to_host(named_variables(model))
    for variable in model.trainable_variables:
        arrays[f"optimizer/{average_name(variable.path)}"] = variable.numpy()
        arrays[f"model/{variable.path}"] = variable.numpy() + 1.0
    snapshot = Snapshot(arrays, Progress(5, Position(), "order"), contract.fingerprint)
    write_checkpoint(run, snapshot, max_to_keep=1)
    return model


def make_export(out: Path, *, run: Path, model: XTTS) -> Path:
    """What an export holds besides the SavedModel."""
    out.mkdir()
    for name in ("run.json", "vocab.json"):
        shutil.copyfile(run / name, out / name)
    contract = read_run_info(run).contract.fingerprint
    exported = Snapshot(copy_to_host(named_variables(model)), Progress(5, Position(), "order"), contract)
    write_snapshot(out / "weights.safetensors", exported)
    return out


@pytest.mark.parametrize("kind", ["run", "export"])
def test_a_model_gets_every_weight_and_keeps_the_tokens_that_it_knew(
    dataset: Dataset, tmp_path: Path, kind: str
) -> None:
    run = tmp_path / "run"
    trained = make_run(run, dataset=dataset)
    folder = run if kind == "run" else make_export(tmp_path / "export", run=run, model=trained)
    pretrained = open_pretrained(folder)
    own = Vocabulary({**SPECIAL, 20_000: "no such piece", POLISH: "pol_Latn"})
    vocabulary = Vocabulary(pretrained.vocabulary.by_id | own.by_id)
    model = build_model(CONFIG, contract=dataset.info.contract, vocabulary=vocabulary)
    line = load_pretrained(pretrained, model=model, vocabulary=vocabulary)
    assert line.startswith(f"starting from the weights of {folder}, ")
    assert line.endswith(f"; 2 of {len(vocabulary):,} tokens are new to it")
    wanted = {variable.path: variable.numpy() for variable in trained.variables}
    assert {variable.path for variable in model.variables} == wanted.keys()
    for variable in model.variables:
        found = variable.numpy()
        if variable.path.endswith(EMBEDDING_SUFFIX):
            found = found[[vocabulary.nllb_ids.tolist().index(one) for one in pretrained.vocabulary.nllb_ids]]
        np.testing.assert_array_equal(found, wanted[variable.path], err_msg=variable.path)


def begin(run: Path, *, config: TrainConfig, dataset: Dataset, is_saved: bool = False) -> RunInfo:
    """Prepare and write the run's files, as training does, and a checkpoint if asked for."""
    info = prepare_run(run, config=config, dataset=dataset)
    write_run_files(run, info, dataset=dataset)
    if is_saved:
        model = build_model(config, contract=info.contract, vocabulary=run_vocabulary(info, dataset=dataset))
        state = Snapshot(copy_to_host(named_variables(model)), Progress(0, Position(), "order"), CONTRACT)
        write_checkpoint(run, state, max_to_keep=1)
    return info


CONTRACT = "contract"


@pytest.fixture
def polish(dataset: Dataset, tmp_path: Path) -> Path:
    """A run that knows Polish too, whose clips are slow."""
    run = tmp_path / "polish"
    make_run(run, dataset=dataset)
    known = Vocabulary.load(run / "vocab.json")
    (run / "vocab.json").write_bytes(Vocabulary({**known.by_id, POLISH: "pol_Latn"}).to_json())
    info = read_run_info(run)
    slow = SpeechPace(min_frames_per_token=1.0, max_frames_per_token=99.0)
    lengths = ReferenceLength(tokens=777, frames_per_token=0.5)
    write_json(run / "run.json", info.model_copy(update={"paces": {"pol_Latn": slow}, "lengths": lengths}))
    return run


def test_a_new_run_keeps_what_its_origin_knows_also_when_that_is_gone(
    dataset: Dataset, polish: Path, tmp_path: Path
) -> None:
    run, config = tmp_path / "run", CONFIG.model_copy(update={"init_from": str(polish)})
    info = begin(run, config=config, dataset=dataset, is_saved=True)
    assert info.extra_pieces == {POLISH: "pol_Latn"}
    assert "pol_Latn" in Vocabulary.load(run / "vocab.json").languages
    assert info.paces["pol_Latn"].max_frames_per_token == 99.0
    assert info.paces.keys() == {"pol_Latn", *RunInfo.of(CONFIG, dataset=dataset).paces}
    assert (info.lengths.tokens, info.lengths.frames_per_token) == (777, 0.5)
    (polish / "run.json").unlink()
    again = prepare_run(run, config=config, dataset=dataset)
    assert (again.extra_pieces, again.paces, again.lengths) == (info.extra_pieces, info.paces, info.lengths)
    assert run_vocabulary(again, dataset=dataset).to_json() == (run / "vocab.json").read_bytes()
    frozen = config.model_copy(update={"rate_factors": RateFactorsConfig(text_encoder=0)})
    with pytest.raises(
        UserError, match=r"froze nothing, rate_factors would now freeze text_encoder; train into anothe"
    ):
        prepare_run(run, config=frozen, dataset=dataset)


def test_a_run_that_ended_before_its_first_checkpoint_begins_as_it_is_asked_to_now(
    dataset: Dataset, polish: Path, tmp_path: Path
) -> None:
    run, config = tmp_path / "run", CONFIG.model_copy(update={"init_from": str(polish)})
    assert not begin(run, config=CONFIG, dataset=dataset).extra_pieces
    assert begin(run, config=config, dataset=dataset).extra_pieces == {POLISH: "pol_Latn"}
    changed = config.model_copy(update={"init_from": None, "rate_factors": RateFactorsConfig(decoder=0)})
    assert not begin(run, config=changed, dataset=dataset).extra_pieces
    (polish / "vocab.json").write_text("no vocabulary")
    with pytest.raises(UserError, match="not a readable vocabulary"):
        begin(run, config=config, dataset=dataset)


def test_weights_of_another_kind_are_refused_with_what_differs(dataset: Dataset, tmp_path: Path) -> None:
    run = tmp_path / "run"
    make_run(run, dataset=dataset)
    pretrained = open_pretrained(run)
    check_pretrained(pretrained, model=CONFIG.model, dataset=dataset)
    other = CONFIG.model.model_copy(update={"size": "nano", "frames_per_step": 2, "dropout": 0.3})
    with pytest.raises(UserError, match=r"another model .*; expected model\.size=pico, model\.frames_per_step=4$"):
        check_pretrained(pretrained, model=other, dataset=dataset)
    contract = dataset.info.contract.model_copy(update={"features": preset("bigvgan-24k-100"), "mel_dtype": "none"})
    changed = dataset._replace(info=dataset.info.model_copy(update={"contract": contract}))
    with pytest.raises(UserError, match=r"features\.sample_rate_hz is 24000, there it is 22050; .*build the dataset"):
        check_pretrained(pretrained, model=CONFIG.model, dataset=changed)
    with pytest.raises(
        UserError, match=r"no run here; expected what `make train RUN=.*` or `make export OUT=.*` writes"
    ):
        open_pretrained(tmp_path)
    (run / "run.json").write_text("[]")
    with pytest.raises(UserError, match=r"run\.json: damaged"):
        open_pretrained(run)


def test_a_file_that_lacks_a_weight_is_named(dataset: Dataset, tmp_path: Path) -> None:
    run = tmp_path / "run"
    model = make_run(run, dataset=dataset)
    out = make_export(tmp_path / "export", run=run, model=model)
    whole = safetensors.numpy.load_file(out / "weights.safetensors")
    with safetensors.safe_open(out / "weights.safetensors", framework="numpy") as file:
        metadata = file.metadata()
    vocabulary = Vocabulary.load(dataset.layout.vocabulary)
    for lost in (next(name for name in whole if name.endswith(EMBEDDING_SUFFIX)), next(iter(whole))):
        safetensors.numpy.save_file(
            {name: value for name, value in whole.items() if name != lost}, out / "weights.safetensors", metadata
        )
        with pytest.raises(UserError, match=f"{lost} is absent.* init_from needs the weights of {out}") as found:
            load_pretrained(open_pretrained(out), model=model, vocabulary=vocabulary)
        assert "remove it" not in str(found.value)
    safetensors.numpy.save_file(whole, out / "weights.safetensors", metadata)
    (out / "vocab.json").write_bytes(Vocabulary({**vocabulary.by_id, POLISH: "pol_Latn"}).to_json())
    with pytest.raises(UserError, match=r"rows in the embedding of a model with a vocabulary of"):
        load_pretrained(open_pretrained(out), model=model, vocabulary=vocabulary)


def test_the_description_of_a_run_without_an_origin_has_no_extra_tokens(dataset: Dataset) -> None:
    info = RunInfo.of(CONFIG, dataset=dataset)
    assert run_vocabulary(info, dataset=dataset).to_json() == dataset.layout.vocabulary.read_bytes()
