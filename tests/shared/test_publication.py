"""Publication: a journal of renamings that can be carried on from any point, and cannot reach outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.files import file_sha256
from shared.layout import Layout
from shared.lock import finish_publication
from shared.publication import complete_publication, publish_files, read_sums, sums_document

names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="/."), min_size=1)
digests = st.from_regex("[0-9a-f]{64}", fullmatch=True)


@given(st.dictionaries(names, digests))
def test_sums_are_read_back(tmp_path_factory: pytest.TempPathFactory, sums: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("sums") / "_SUCCESS"
    path.write_bytes(sums_document(sums))
    assert read_sums(path) == sums


def test_sha256sum_itself_reads_them(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"1")
    (tmp_path / "_SUCCESS").write_bytes(sums_document({"one": file_sha256(tmp_path / "one")}))
    assert subprocess.run(["sha256sum", "--check", "--strict", "_SUCCESS"], cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "one").write_bytes(b"2")
    assert subprocess.run(["sha256sum", "--check", "--strict", "_SUCCESS"], cwd=tmp_path, check=False).returncode == 1


def test_unsound_lines_are_passed_over(tmp_path: Path) -> None:
    outside = sums_document({"/etc/passwd": "b" * 64, "../x": "b" * 64})
    (tmp_path / "_SUCCESS").write_bytes(b"\xff\n" + outside + sums_document({"one": "a" * 64}) + b"short  two\n\n")
    assert read_sums(tmp_path / "_SUCCESS") == {"one": "a" * 64}
    assert read_sums(tmp_path / "none") == {}


@pytest.fixture
def staged(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    (tmp_path / "new").mkdir()
    for name in ("dataset.json", "_SUCCESS"):
        (tmp_path / "new" / name).write_text("new")
        (tmp_path / name).write_text("old")
    (tmp_path / "stale").write_text("old")
    return layout


def test_files_are_moved_and_removed(staged: Layout) -> None:
    new = staged.root / "new"
    moves = [(new / "dataset.json", staged.info), (new / "_SUCCESS", staged.success)]
    publish_files(staged, moves=moves, removals=[staged.root / "stale"])
    assert {path.name: path.read_text() for path in staged.root.iterdir() if path.is_file()} == {
        "dataset.json": "new",
        "_SUCCESS": "new",
    }
    complete_publication(staged)
    assert staged.success.read_text() == "new"


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "."])
def test_a_journal_cannot_reach_outside_the_dataset(staged: Layout, name: str) -> None:
    (staged.root.parent / "x").write_text("mine")
    for document in (
        {"removals": [name], "moves": [["new/_SUCCESS", "_SUCCESS"]]},
        {"removals": [], "moves": [["new/_SUCCESS", name]]},
    ):
        staged.journal.write_text(json.dumps(document))
        with pytest.raises(UserError, match="not a journal of a build: remove it"):
            finish_publication(staged)
    assert (staged.root.parent / "x").read_text() == "mine"


def test_a_journal_whose_files_are_gone_leaves_no_dataset(staged: Layout) -> None:
    """A build makes one; a reader must not take what is half of the one and half of the other."""
    moves = [["new/dataset.json", "dataset.json"], ["new/gone", "shards"], ["new/_SUCCESS", "_SUCCESS"]]
    staged.journal.write_text(json.dumps({"removals": [], "moves": moves}))
    finish_publication(staged)
    assert not staged.success.exists()
    assert not staged.journal.exists()
