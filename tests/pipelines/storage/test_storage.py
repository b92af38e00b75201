"""Datasets in object stores: everything that works on a disk works there, with the same bytes."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.storage.locations import dataset_path
from pipelines.storage.object_store import RemotePath
from shared.dataset import Dataset
from shared.errors import UserError
from shared.files import link_file, local_path, new_file, write_bytes
from shared.locks import read_lock, write_lock
from shared.storage_path import StoragePath
from tests.commands import Outcome
from tests.pipelines import builds, damage, vault

SCHEMES = ("vault", "attic")
SETTINGS = ("utterances_per_shard=4", "validation_fraction=0.3")


# Tests run with both kinds of store; with this mark, the second kind only in `make soak`.
ONE_STORE = pytest.mark.parametrize("data", ["vault", pytest.param("attic", marks=pytest.mark.soak)], indirect=True)


@pytest.fixture(params=SCHEMES)
def data(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemotePath:
    """An empty folder in a store of the test's own."""
    (tmp_path / "store").mkdir()
    monkeypatch.setenv(vault.FOLDER, str(tmp_path / "store"))
    return RemotePath(f"{request.param}://bucket/of/mine")


@pytest.fixture(scope="module")
def stores(small: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A store of each kind with the small dataset; read-only."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        for scheme in SCHEMES:
            folders[scheme] = tmp_path_factory.mktemp(scheme)
            patch.setenv(vault.FOLDER, str(folders[scheme]))
            build(RemotePath(f"{scheme}://bucket/of/mine"), corpus=small.parent / "corpus")
    return folders


@pytest.fixture
def stored(data: RemotePath, stores: dict[str, Path]) -> RemotePath:
    """The small dataset in a store, for a test to modify."""
    shutil.copytree(stores[scheme_of(data)], os.environ[vault.FOLDER], dirs_exist_ok=True)
    return data


def build(data: StoragePath, *more: str, corpus: Path) -> None:
    builds.build(data, config=builds.LJSPEECH_CONFIG, overrides=builds.overrides_for(corpus, *SETTINGS, *more))


def scheme_of(data: RemotePath) -> str:
    return str(data).partition(":")[0]


def content(data: RemotePath) -> dict[str, bytes]:
    """The files of the dataset in the store, as `builds.content` of a folder."""
    found = {url.removeprefix(f"{data}/"): held for url, held in vault.objects(scheme_of(data)).items()}
    return {name: held for name, held in found.items() if not name.startswith(builds.BESIDE)}


def test_a_build_into_a_store_gives_the_bytes_of_one_onto_a_disk(stored: RemotePath, small: Path) -> None:
    assert content(stored) == builds.content(small)


def test_a_rebuild_with_nothing_to_do_leaves_every_object_alone(stored: RemotePath, small: Path) -> None:
    files = Path(os.environ[vault.FOLDER]).iterdir()
    before = {path.name: path.stat().st_ino for path in files if path.name.endswith("~")}
    build(stored, corpus=small.parent / "corpus")
    files = Path(os.environ[vault.FOLDER]).iterdir()
    assert {path.name: path.stat().st_ino for path in files if path.name.endswith("~")} == before


@pytest.mark.slow
@ONE_STORE
def test_added_utterances_give_the_bytes_of_a_disk(data: RemotePath, tmp_path: Path) -> None:
    for clips in (7, 9):
        corpus = builds.make_corpus(tmp_path / f"{clips}" / "corpus", clips=clips)
        (tmp_path / "corpus").unlink(missing_ok=True)
        (tmp_path / "corpus").symlink_to(corpus)
        build(data, corpus=tmp_path / "corpus")
        build(tmp_path / "data", corpus=tmp_path / "corpus")
    assert content(data) == builds.content(tmp_path / "data")
    assert len(Dataset.open(data).manifest("train")) + len(Dataset.open(data).manifest("validation")) == 9


@pytest.mark.slow
def test_a_clean_dataset_is_found_clean_and_a_flipped_byte_is_repaired(
    stored: RemotePath, small: Path, command: Callable[..., Outcome]
) -> None:
    assert command("validate", "--data", str(stored)).code == 0
    stem = damage.stems(small)[0]
    damage.flip(vault.object_of(f"{stored}/shards/{stem}.tfrecord"), position=4000)
    found = command("validate", "--data", str(stored))
    assert found.code == 1
    assert f"shards/{stem}.tfrecord" in found.out
    assert command("repair", "--data", str(stored)).code == 0
    quarantined = {name for name in content(stored) if name.startswith("quarantine/")}
    assert [name.rpartition("/")[2] for name in quarantined] == [f"{stem}.tfrecord"]
    assert {name: held for name, held in content(stored).items() if name not in quarantined} == builds.content(small)
    assert command("validate", "--data", str(stored), "--changed").code == 0


@pytest.mark.slow
@ONE_STORE
def test_a_fixed_recording_is_replayed(data: RemotePath, tmp_path: Path, command: Callable[..., Outcome]) -> None:
    corpus = builds.make_corpus(tmp_path / "corpus", clips=7)
    wav = corpus / "wavs" / "C00003.wav"
    good = wav.readlink()
    wav.unlink()
    wav.write_bytes(b"RIFF")
    build(data, "max_rejected_fraction=1", corpus=corpus)
    wav.unlink()
    wav.symlink_to(good)
    assert command("replay", "--data", str(data)).code == 0
    build(tmp_path / "data", "max_rejected_fraction=1", corpus=corpus)
    assert content(data) == builds.content(tmp_path / "data")


@pytest.mark.slow
def test_report_trace_and_comparison_read_a_store(
    stored: RemotePath, small: Path, command: Callable[..., Outcome], tmp_path: Path
) -> None:
    assert command("report", "--data", str(stored)).out.strip() == f"{stored}/report.html"
    assert vault.objects(scheme_of(stored))[f"{stored}/report.html"].startswith(b"<!DOCTYPE html>")
    utterance_id = Dataset.open(stored).manifest("train")["utterance_id"][0].as_py()
    traced = command("trace", utterance_id, "--data", str(stored), "--mel", str(tmp_path / "mel.png"))
    assert traced.code == 0, traced.err
    assert (tmp_path / "mel.png").is_file()
    assert command("compare", str(stored), str(small), "--out", str(tmp_path / "out.html")).code == 0
    assert f"{stored}: a dataset" in command("doctor", "--data", str(stored)).out
    stem = damage.stems(small)[0]
    assert command("trace", f"shards/{stem}.tfrecord:0", "--data", str(stored)).code == 0


@pytest.mark.slow
def test_the_lock_of_a_killed_writer_is_broken_on_request_only(
    stored: RemotePath, small: Path, command: Callable[..., Outcome]
) -> None:
    with write_lock(stored, command="build"):
        left = (stored / ".lock").read_bytes()
        with pytest.raises(UserError, match="is writing here"), read_lock(stored):
            pass
        with pytest.raises(UserError, match="--break-lock"), write_lock(stored, command="repair"):
            pass
    assert not (stored / ".lock").exists()
    write_bytes(stored / ".lock", left)
    refused = command("repair", "--data", str(stored))
    assert (refused.code, "--break-lock" in refused.err) == (2, True)
    assert command("repair", "--data", str(stored), "--break-lock").code == 0
    assert not (stored / ".lock").exists()


def test_a_file_whose_writing_failed_is_not_stored(data: RemotePath) -> None:
    def fail() -> None:
        with new_file(data / "a") as file:
            file.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert vault.objects(scheme_of(data)) == {}


def test_a_remote_path_is_no_local_one(data: RemotePath) -> None:
    assert not isinstance(data, os.PathLike)
    with pytest.raises(TypeError):
        Path(data)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        local_path(data)


def test_a_remote_path_has_the_parts_of_a_local_one(data: RemotePath) -> None:
    path, twin = data / "shards" / "a.b.tfrecord", Path("/of/mine/shards/a.b.tfrecord")
    for name in ("name", "stem", "suffix"):
        assert getattr(path, name) == getattr(twin, name)
    assert path.parent == data / "shards"
    assert path.with_suffix(".x").name == twin.with_suffix(".x").name
    assert path.with_name("z") == data / "shards" / "z"
    assert path.relative_to(data).as_posix() == "shards/a.b.tfrecord"
    with pytest.raises(ValueError, match="not below"):
        data.relative_to(path)
    assert pickle.loads(pickle.dumps(path)) == path
    assert sorted([data / "b", data / "a-c", data / "a" / "c"]) == [data / "a" / "c", data / "a-c", data / "b"]
    assert RemotePath(f"{data}//x/") == data / "x"


def test_files_and_folders_answer_as_on_a_disk(data: RemotePath, tmp_path: Path) -> None:
    """The same calls on both give the same results and errors."""
    answers = [_answers(root) for root in (data, tmp_path / "disk")]
    assert answers[0] == answers[1]


def _answers(root: StoragePath) -> list[object]:
    folder = root / "folder"
    folder.mkdir(parents=True, exist_ok=True)
    results: list[object] = []
    for number, name in enumerate(("b.json", "a.txt", "c.json")):
        write_bytes(folder / name, b"x" * number)
    (folder / "below").mkdir(exist_ok=True)
    (folder / "below" / "d").write_text("ü", encoding="utf-8")
    results.append([path.name for path in sorted(folder.iterdir())])
    results.append([path.name for path in sorted(folder.glob("*.json"))])
    results += [(folder / "c.json").stat().st_size, (folder / "below" / "d").read_text(encoding="utf-8")]
    results += [folder.is_dir(), folder.is_file(), folder.exists(), (folder / "a.txt").is_file()]
    results += [(folder / "a.txt").is_dir(), (folder / "none").exists(), (folder / "none").is_dir()]
    (folder / "a.txt").replace(folder / "b.json")
    link_file(folder / "c.json", folder / "b.json")
    results += [(folder / "b.json").read_bytes(), (folder / "a.txt").exists()]
    (folder / "below").rename(folder / "after")
    results += [(folder / "below").exists(), (folder / "after" / "d").is_file()]
    with (folder / "c.json").open("rb") as file:
        results += [file.seek(1), file.read(), file.tell()]
    (folder / "c.json").unlink()
    (folder / "c.json").unlink(missing_ok=True)
    for fails in (
        lambda: (folder / "c.json").unlink(),
        lambda: (folder / "c.json").open("rb"),
        lambda: (folder / "c.json").stat(),
        lambda: (folder / "c.json").replace(folder / "z"),
    ):
        with pytest.raises(FileNotFoundError) as raised:
            fails()
        results.append((raised.value.errno, raised.value.strerror, str(raised.value.filename)[len(str(root)) :]))
    return results


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gs://bucket/data", r"apache-beam\[gcp\]"),
        ("hdfs://host:9870/data", r"apache-beam\[hadoop\]"),
        ("ftp://host/data", "no such file system"),
        ("vault://", "expected a folder there"),
        ("vault://bucket/a*", "without any of"),
    ],
)
def test_an_unusable_location_is_reported_in_one_line(
    text: str, message: str, command: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=message):
        dataset_path(text)
    outcome = command("validate", "--data", text)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)


def test_any_other_text_is_a_local_folder(tmp_path: Path) -> None:
    assert dataset_path(str(tmp_path)) == tmp_path
    assert dataset_path("a:/b") == Path("a:/b")


@pytest.fixture
def stores_in_subprocesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python process that starts from here on knows the test stores."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import tests.pipelines.vault\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "site"), str(Path.cwd()))))


@pytest.mark.slow
@ONE_STORE
def test_worker_processes_write_into_a_store(data: RemotePath, small: Path, stores_in_subprocesses: None) -> None:
    build(data, "workers=2", corpus=small.parent / "corpus")
    assert content(data) == builds.content(small)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["vault"], indirect=True)
@pytest.mark.parametrize("renames", [1, *(pytest.param(number, marks=pytest.mark.soak) for number in (9, 16))])
def test_a_killed_publication_is_completed(
    renames: int, data: RemotePath, small: Path, stores_in_subprocesses: None, command: Callable[..., Outcome]
) -> None:
    words = builds.build_words(small.parent / "corpus", *SETTINGS, data=small)[:-1]
    killed = subprocess.run(
        [builds.COMMAND, *words, str(data)], env={**os.environ, vault.RENAMES: str(renames)}, capture_output=True
    )
    assert killed.returncode == 137, killed.stderr.decode()
    assert content(data) != builds.content(small)
    with pytest.raises(UserError, match="--break-lock"):
        Dataset.open(data)
    with write_lock(data, command="repair", break_lock=True):
        pass
    held = {name: one for name, one in content(data).items() if not name.startswith(".staging/")}
    assert held == builds.content(small)
    finished = command(*words, str(data))
    assert finished.code == 0, finished.err
    assert finished.out.endswith(f"{data}/report.html\n")
    assert content(data) == builds.content(small)
