"""Repair restores the published bytes of damaged files and touches nothing else."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.repair.repair import _has_equal_tables, repair_dataset
from pipelines.validation.validate import validate_dataset
from shared import tables
from shared.layout import Layout
from tests.pipelines import builds

OF_A_DATASET = ("shards", "manifest", "rejected", "withheld", ".")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty clips that a test may change; two of them cannot be read."""
    folder = builds.make_corpus(tmp_path_factory.mktemp("repair") / "corpus", clips=20)
    for path in sorted((folder / "wavs").iterdir()):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    for number in (3, 11):
        (folder / f"wavs/C{number:05d}.wav").write_bytes(b"no wav")
    return folder


def words(corpus: Path) -> list[str]:
    thresholds = ("checks.max_duration_s=2.3", "max_rejected_fraction=1", "characters_per_second_deviations=null")
    return builds.overrides_for(
        corpus, "utterances_per_shard=10", "validation_fraction=0.2", *thresholds[:2], f"checks.{thresholds[2]}"
    )


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("whole") / "data"
    return builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=words(corpus))


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return builds.copied(whole, to=tmp_path / "data")


def published(data: Path) -> dict[str, bytes]:
    return {name: found for name, found in builds.content(data).items() if not name.startswith("quarantine/")}


def files(data: Path) -> list[Path]:
    """All files of a dataset."""
    found = [path for name in OF_A_DATASET for path in sorted((data / name).iterdir()) if path.is_file()]
    return [path for path in found if path.name not in builds.BESIDE]


def inodes(data: Path) -> dict[str, int]:
    return {str(path.relative_to(data)): path.stat().st_ino for path in files(data)}


def test_the_dataset_of_these_tests_has_kept_filtered_and_rejected_utterances(whole: Path) -> None:
    sizes = {path.parent.name: path.stat().st_size for path in files(whole) if path.suffix == ".tfrecord"}
    assert set(sizes) == {"shards", "withheld"}
    assert any((whole / "withheld").glob("*.tfrecord"))
    assert sum(path.stat().st_size for path in (whole / "withheld").glob("*.tfrecord")) > 0


def zero(path: Path, *, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    start = chance.randrange(max(len(data) - 64, 1))
    data[start : start + 64] = bytes(len(data[start : start + 64]))
    path.write_bytes(data)


def flip(path: Path, *, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def cut(path: Path, *, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def remove(path: Path, *, chance: random.Random) -> None:
    path.unlink()


def one_of_each_kind(data: Path) -> list[Path]:
    """The largest file of each folder and suffix, and each file that describes the whole dataset."""
    chosen: dict[tuple[str, str], Path] = {}
    for path in sorted(files(data), key=lambda path: path.stat().st_size):
        chosen[path.parent.name, path.name if path.parent == data else path.suffix] = path
    return list(chosen.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "choose"),
    [
        (flip, one_of_each_kind),
        (remove, one_of_each_kind),
        *(pytest.param(spoil, files, marks=pytest.mark.soak) for spoil in (zero, flip, cut, remove)),
    ],
)
def test_every_damaged_file_is_made_again_byte_for_byte(
    spoil: Callable, choose: Callable[[Path], list[Path]], whole: Path, corpus: Path, tmp_path: Path
) -> None:
    """The config is given only if the dataset's own config is the damaged file."""
    chance, before = random.Random(spoil.__name__), published(whole)
    for number, path in enumerate(choose(whole)):
        data = builds.copied(whole, to=tmp_path / str(number))
        broken = data / path.relative_to(whole)
        if path.stat().st_size == 0 and spoil is not remove:
            continue
        spoil(broken, chance=chance)
        was, gone = broken.read_bytes() if broken.exists() else None, inodes(data)
        config = builds.config_of(words(corpus)) if path.name == "config.yaml" else None
        repair = repair_dataset(data, config=config)
        name = str(path.relative_to(whole))
        assert name in repair.damaged, name
        assert repair.differing == ()
        assert published(data) == before
        now = inodes(data)
        written = {one for one, inode in gone.items() if now[one] != inode}
        assert written <= {name, "_SUCCESS"}, "nothing else is written"
        if was is not None:
            assert repair.quarantine is not None
            assert (repair.quarantine / name).read_bytes() == was
        shutil.rmtree(data)


@pytest.mark.slow
def test_many_files_damaged_at_once_are_all_made_again(whole: Path, corpus: Path, damaged: Path) -> None:
    chance = random.Random(5)
    broken = chance.sample(files(damaged), k=12)
    for path in broken:
        if path.stat().st_size:
            cut(path, chance=chance)
    repair = repair_dataset(damaged, config=builds.config_of(words(corpus)))
    assert not repair.is_aborted
    assert published(damaged) == published(whole)


@pytest.mark.slow
def test_an_intact_dataset_has_nothing_to_repair(damaged: Path, command: Callable) -> None:
    before = inodes(damaged)
    outcome = command("repair", "--data", damaged)
    assert (outcome.code, outcome.out) == (0, f"{damaged}: nothing to repair\n")
    assert inodes(damaged) == before


def test_success_lists_the_sha256_of_every_file(whole: Path) -> None:
    lines = (whole / "_SUCCESS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in lines)
    assert named == {
        str(path.relative_to(whole)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files(whole)
        if path.name != "_SUCCESS"
    }


def a_train_shard(data: Path) -> Path:
    return max((data / "shards").glob("*-train-*"), key=lambda path: path.stat().st_size)


def ids_in(data: Path, stem: str) -> list[str]:
    return pq.read_table(data / f"manifest/{stem}.parquet")["utterance_id"].to_pylist()


@pytest.fixture
def own(corpus: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A corpus and its dataset; a test may change both."""
    mine = builds.copied(corpus, to=tmp_path / "corpus")
    data = builds.build(tmp_path / "data", config=builds.LJSPEECH_CONFIG, overrides=words(mine))
    return mine, data


@pytest.mark.slow
def test_a_version_of_pyarrow_that_writes_other_bytes_for_the_same_rows_changes_nothing(
    whole: Path, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = pq.write_table
    flip(a_train_shard(damaged), chance=random.Random(2))
    monkeypatch.setattr(tables.pq, "write_table", lambda *rows, **how: write(*rows, **{**how, "compression": "snappy"}))
    assert repair_dataset(damaged).differences == ()
    assert published(damaged) == published(whole)


@pytest.mark.parametrize(("column", "is_equal"), [("text_leaks", False), ("offset_bytes", False), (None, True)])
def test_tables_are_equal_by_all_their_columns_whatever_their_bytes(
    column: str | None, is_equal: bool, whole: Path, damaged: Path
) -> None:
    stem = a_train_shard(damaged).stem
    path = damaged / f"manifest/{stem}.parquet"
    table = pq.read_table(path)
    if column is not None:
        values = table[column].to_pylist()
        changed = pa.array([not values[0] if column == "text_leaks" else values[0] + 1, *values[1:]])
        table = table.set_column(table.column_names.index(column), table.schema.field(column), changed)
    pq.write_table(table, path, compression="snappy")
    assert path.read_bytes() != (whole / path.relative_to(damaged)).read_bytes()
    assert _has_equal_tables(stem, older=Layout(whole), newer=Layout(damaged)) is is_equal


@pytest.mark.slow
def test_a_changed_corpus_is_reported_by_utterance_and_stops_the_repair(
    own: tuple[Path, Path], command: Callable
) -> None:
    corpus, data = own
    shard = a_train_shard(data)
    changed, untouched = ids_in(data, shard.stem)[:2]
    wav = corpus / f"wavs/{changed.split('/')[1]}.wav"
    samples, rate_hz = soundfile.read(wav)
    soundfile.write(wav, samples / 2, rate_hz)
    flip(shard, chance=random.Random(1))
    before = published(data)
    outcome = command("repair", "--data", data)
    assert outcome.code == 1
    assert f"{shard.stem}: {changed}: " in outcome.out
    assert "audio_sha256 was" in outcome.out
    assert untouched not in outcome.out
    assert {name: found for name, found in published(data).items() if not name.startswith(".staging")} == before
    outcome = command("repair", "--data", data, "--accept-changes")
    assert outcome.code == 0
    assert "not the published bytes:" in outcome.out
    assert validate_dataset(data).findings == []
    fresh = builds.build(data.parent / "fresh", config=builds.LJSPEECH_CONFIG, overrides=words(corpus))
    assert published(data) == builds.content(fresh)


@pytest.mark.slow
def test_a_corpus_with_new_file_times_gives_the_same_bytes(own: tuple[Path, Path]) -> None:
    corpus, data = own
    before = published(data)
    for path in (corpus / "wavs").iterdir():
        os.utime(path, (1e9, 1e9))
    flip(a_train_shard(data), chance=random.Random(2))
    repair = repair_dataset(data)
    assert (repair.differing, repair.differences) == ((), ())
    assert published(data) == before


@pytest.mark.slow
def test_a_repair_adds_no_new_utterance_of_the_corpus(own: tuple[Path, Path]) -> None:
    """If the new utterance falls into the damaged shard, the repair reports it and stops."""
    corpus, data = own
    before = published(data)
    shutil.copy(corpus / "wavs/C00001.wav", corpus / "wavs/D00001.wav")
    with (corpus / "metadata.csv").open("a") as rows:
        rows.write("D00001|A new sentence.|A new sentence.\n")
    for shard in sorted((data / "shards").iterdir()):
        good = shard.read_bytes()
        if not good:
            continue
        flip(shard, chance=random.Random(3))
        repair = repair_dataset(data)
        if repair.is_aborted:
            found = [(one.utterance_id, one.shard_name) for one in repair.differences]
            assert found == [("ljspeech/D00001", shard.stem)]
            shard.write_bytes(good)
        assert {name: found for name, found in published(data).items() if not name.startswith(".staging")} == before


def test_a_config_other_than_the_datasets_is_refused(damaged: Path, command: Callable, corpus: Path) -> None:
    outcome = command(
        "repair", builds.LJSPEECH_CONFIG, *words(corpus), "checks.max_duration_s=4", "--data", str(damaged)
    )
    assert outcome.code == 2
    assert "was built with another config than the one given" in outcome.err


def test_a_damaged_config_is_asked_for(damaged: Path, command: Callable) -> None:
    (damaged / "config.yaml").write_text("sources: {}\n")
    outcome = command("repair", "--data", damaged)
    assert outcome.code == 2
    assert "config.yaml is missing or damaged; give the config that the dataset was built with" in outcome.err


def test_repair_needs_a_dataset(tmp_path: Path, command: Callable) -> None:
    outcome = command("repair", "--data", tmp_path / "none")
    assert outcome.code == 2
    assert "no such directory; expected a dataset" in outcome.err


def in_place_of(path: Path, *, kind: str) -> None:
    """Replace a file by a pipe, a folder or a broken link."""
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "mine.txt").write_text("mine")
    else:
        path.symlink_to("nowhere")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
def test_anything_else_in_the_place_of_a_file_moves_into_quarantine(
    kind: str, whole: Path, damaged: Path, command: Callable
) -> None:
    shard = a_train_shard(damaged)
    names = [f"shards/{shard.name}", f"manifest/{shard.stem}.parquet", "_SUCCESS"]
    for name in names:
        in_place_of(damaged / name, kind=kind)
    found = {(one.file, one.check) for one in validate_dataset(damaged).findings}
    assert {(name, "missing") for name in names} <= found
    outcome = command("repair", "--data", damaged)
    assert outcome.code == 0
    assert published(damaged) == published(whole)
    (quarantine,) = (damaged / "quarantine").iterdir()
    assert not any((quarantine / name).is_file() for name in names)
    assert all(os.path.lexists(quarantine / name) for name in names)
    if kind == "folder":
        assert (quarantine / names[0] / "mine.txt").read_text() == "mine"


def test_a_pipe_in_the_place_of_dataset_json_is_replaced(whole: Path, damaged: Path) -> None:
    in_place_of(damaged / "dataset.json", kind="pipe")
    repair = repair_dataset(damaged)
    assert "dataset.json" in repair.changed
    assert published(damaged) == published(whole)


@pytest.mark.slow
def test_the_last_line_of_a_repair_is_true_with_one_list_of_sums_left(
    whole: Path, damaged: Path, command: Callable
) -> None:
    (damaged / "_SUCCESS").unlink()
    cut(a_train_shard(damaged), chance=random.Random(4))
    (damaged / "shards/mine.txt").write_text("mine")
    outcome = command("repair", "--data", damaged)
    assert outcome.code == 0
    assert "every file has the published bytes\n" in outcome.out
    assert published(damaged) == published(whole)


@pytest.mark.slow
def test_a_missing_success_is_written_again_beside_the_staging_of_a_killed_build(
    whole: Path, damaged: Path, command: Callable
) -> None:
    (damaged / "_SUCCESS").unlink()
    (damaged / ".staging" / ("0" * 32)).mkdir(parents=True)
    outcome = command("validate", "--data", damaged)
    assert (outcome.code, "_SUCCESS" in outcome.out) == (1, True)
    assert command("repair", "--data", damaged).code == 0
    assert published(damaged) == published(whole)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_an_unusable_quarantine_folder_is_reported_before_the_work(
    kind: str, damaged: Path, tmp_path: Path, command: Callable
) -> None:
    (damaged / "_SUCCESS").unlink()
    if kind == "file":
        (damaged / "quarantine").write_text("mine")
    else:
        (damaged / "quarantine").symlink_to(tmp_path)
    outcome = command("repair", "--data", damaged)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {damaged}/quarantine: ")
    assert outcome.err.count("\n") == 1
