"""Publication: a journal of renamings that can be resumed at any point, and cannot reach outside the dataset."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.locks import finish_publication
from shared.publication import complete_publication, format_checksums, publish_files, read_checksums

STEM = "lj-train-00000-of-00002"
SHARD, STAGED = f"shards/{STEM}.tfrecord", f".staging/{'0a' * 16}"
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="/."), min_size=1)
digests = st.from_regex("[0-9a-f]{64}", fullmatch=True)


@pytest.mark.slow
@given(st.dictionaries(names, digests))
def test_checksums_are_read_back(tmp_path_factory: pytest.TempPathFactory, sums: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("sums") / "_SUCCESS"
    path.write_bytes(format_checksums(sums))
    assert read_checksums(path) == sums


def test_sha256sum_verifies_the_checksum_file(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "_SUCCESS").write_bytes(format_checksums({"one": file_sha256(tmp_path / "one")}))
    assert subprocess.run(["sha256sum", "--check", "--strict", "_SUCCESS"], cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "one").write_bytes(b"2")
    assert subprocess.run(["sha256sum", "--check", "--strict", "_SUCCESS"], cwd=tmp_path, check=False).returncode == 1


def test_malformed_lines_are_skipped(tmp_path: Path) -> None:
    outside = format_checksums({"/etc/passwd": "b" * 64, "../x": "b" * 64})
    (tmp_path / "_SUCCESS").write_bytes(b"\xff\n" + outside + format_checksums({"one": "a" * 64}) + b"short  two\n\n")
    assert read_checksums(tmp_path / "_SUCCESS") == {"one": "a" * 64}
    assert read_checksums(tmp_path / "none") == {}


@pytest.fixture
def staged(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    (tmp_path / STAGED).mkdir(parents=True)
    for name in ("dataset.json", "_SUCCESS"):
        (tmp_path / STAGED / name).write_text("new")
        (tmp_path / name).write_text("old")
    (tmp_path / "shards").mkdir()
    (tmp_path / SHARD).write_text("old")
    return layout


def test_files_are_moved_and_removed(staged: Layout) -> None:
    new = staged.root / STAGED
    moves = [(new / "dataset.json", staged.info), (new / "_SUCCESS", staged.success)]
    publish_files(staged, moves=moves, removals=[staged.root / SHARD])
    assert not (staged.root / SHARD).exists()
    assert {path.name: path.read_text() for path in staged.root.iterdir() if path.is_file()} == {
        "dataset.json": "new",
        "_SUCCESS": "new",
    }
    complete_publication(staged)
    assert staged.success.read_text() == "new"


INFO, SUCCESS = ([f"{STAGED}/{name}", name] for name in ("dataset.json", "_SUCCESS"))
OTHERS = ["/etc/passwd", "../x", "a/../../x", "", ".", "shards/../../x", "shards/mine.txt", "x/old", "report.html"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_journal_can_name_nothing_but_files_of_a_dataset(staged: Layout, name: str) -> None:
    (staged.root.parent / "x").write_text("mine")
    for document in (
        {"removals": [name], "moves": [SUCCESS]},
        {"removals": [], "moves": [[f"{STAGED}/{name}", name], SUCCESS]},
        {"removals": [], "moves": [[name, "dataset.json"], SUCCESS]},
        {"removals": [], "moves": []},
        {"removals": [], "moves": [[f"{STAGED}/dataset.json", "dataset.json"]]},
        {"removals": [], "moves": [[f"{STAGED}/dataset.json", "vocab.json"], SUCCESS]},
    ):
        staged.journal.write_text(json.dumps(document))
        with pytest.raises(UserError, match="not a journal of a build; remove it"):
            finish_publication(staged)
    assert (staged.root.parent / "x").read_text() == "mine"
    assert staged.success.read_text() == "old"


@pytest.mark.parametrize("link", ["shards", ".staging", STAGED, f"{STAGED}/shards"])
def test_a_journal_reaches_nothing_through_a_link(staged: Layout, link: str, tmp_path_factory: Any) -> None:
    """A dataset that was copied from elsewhere, opened by a reader."""
    victim = tmp_path_factory.mktemp("victim")
    (staged.root / STAGED / "shards").mkdir()
    if (staged.root / link).is_dir():
        shutil.copytree(staged.root / link, victim, dirs_exist_ok=True)
        shutil.rmtree(staged.root / link)
    (victim / f"{STEM}.tfrecord").write_text("mine")
    (staged.root / link).symlink_to(victim)
    before = {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()}
    journal = {"removals": [SHARD], "moves": [[f"{STAGED}/{SHARD}", SHARD], SUCCESS]}
    staged.journal.write_text(json.dumps(journal))
    with pytest.raises(UserError, match=f"{link}: is a link; expected a folder"):
        finish_publication(staged)
    assert {path: path.read_bytes() for path in victim.rglob("*") if path.is_file()} == before
    assert staged.success.read_text() == "old"


def test_nothing_is_published_into_a_folder_that_is_a_link(staged: Layout, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.rmtree(staged.root / "shards")
    (staged.root / "shards").symlink_to(elsewhere)
    refused(staged, match="shards: is a link; expected a folder")


def refused(staged: Layout, *, match: str) -> None:
    """Expect that publishing a shard is refused, and that nothing has changed."""
    new = staged.root / STAGED
    (new / "shards").mkdir()
    (new / SHARD).write_text("new")
    moves = [(new / SHARD, staged.root / SHARD), (new / "_SUCCESS", staged.success)]
    with pytest.raises(UserError, match=match):
        publish_files(staged, moves=moves, removals=[])
    assert staged.success.read_text() == "old"
    assert not staged.journal.exists()


def test_nothing_is_published_where_a_folder_has_the_name_of_a_file(staged: Layout) -> None:
    (staged.root / "vocab.json").mkdir()
    (staged.root / STAGED / "vocab.json").write_text("new")
    new = staged.root / STAGED
    with pytest.raises(IsADirectoryError):
        publish_files(
            staged,
            moves=[(new / "vocab.json", staged.vocabulary), (new / "_SUCCESS", staged.success)],
            removals=[staged.root / SHARD],
        )
    assert (staged.root / SHARD).read_text() == staged.success.read_text() == "old"
    assert not staged.journal.exists()


@pytest.mark.parametrize("bound", [True, False])
def test_nothing_is_published_across_file_systems(bound: bool, staged: Layout, tmp_path: Path) -> None:
    """Renaming fails also between two mounts of one file system; the older dataset stays whole."""
    (tmp_path / "elsewhere").mkdir()
    shards = tmp_path / "shards"
    words = ["--bind", tmp_path / "elsewhere", shards] if bound else ["-t", "tmpfs", "tmpfs", shards]
    if os.geteuid() != 0 or subprocess.run(["mount", *words], check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        refused(
            staged,
            match="shards: is on another file system than the dataset, and files cannot be renamed across",
        )
    finally:
        subprocess.run(["umount", shards], check=True)


def test_a_journal_whose_files_are_gone_leaves_no_dataset(staged: Layout) -> None:
    """A build makes a new dataset; a reader must not open a mixture of two."""
    gone = f"shards/{STEM.replace('00000', '00001', 1)}.tfrecord"
    moves = [[f"{STAGED}/dataset.json", "dataset.json"], [f"{STAGED}/{gone}", gone], SUCCESS]
    staged.journal.write_text(json.dumps({"removals": [], "moves": moves}))
    finish_publication(staged)
    assert not staged.success.exists()
    assert not staged.journal.exists()


@pytest.mark.parametrize("others", [0, 1])
def test_the_staging_folder_of_a_published_build_is_removed_whenever_it_is_killed(staged: Layout, others: int) -> None:
    """The folder of another build stays: its shards can be reused."""
    (staged.root / STAGED / "prepared").mkdir()
    for number in range(others):
        (staged.staging / f"{number:032x}").mkdir()
    staged.journal.write_text(json.dumps({"removals": [], "moves": [INFO, SUCCESS]}))
    shutil.copytree(staged.root, staged.root / "killed")
    finish_publication(staged)
    assert staged.success.read_text() == "new"
    assert not staged.journal.exists()
    assert len(list(staged.staging.iterdir()) if staged.staging.exists() else []) == others
    assert staged.staging.exists() == bool(others)
    killed = Layout(staged.root / "killed")  # after the last renaming
    (killed.root / STAGED / "_SUCCESS").replace(killed.success)
    (killed.root / STAGED / "dataset.json").replace(killed.info)
    finish_publication(killed)
    assert not (killed.root / STAGED).exists()
    assert killed.staging.exists() == bool(others)


@pytest.mark.parametrize("error", [OSError(errno.EIO, os.strerror(errno.EIO)), RecursionError()])
def test_a_dataset_stays_published_if_its_staging_folder_cannot_be_removed(
    staged: Layout, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(folder: Path) -> None:
        raise error

    monkeypatch.setattr("shared.publication.remove_tree", refuse)
    staged.journal.write_text(json.dumps({"removals": [], "moves": [INFO, SUCCESS]}))
    finish_publication(staged)
    assert (staged.success.read_text(), staged.info.read_text()) == ("new", "new")
    assert not staged.journal.exists()
