"""Lists of ids that a source takes or leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preprocess.utterance import Reason, Rejection, Utterance
from shared.errors import UserError

METADATA = "".join(f"{number}|raw|text\n" for number in range(6))


@pytest.mark.parametrize("prefix", ["", "x/"])
@pytest.mark.parametrize(
    ("key", "taken", "message"),
    [("include", {"x/3", "x/5"}, "not in"), ("exclude", {"x/0", "x/1", "x/2", "x/4"}, "in")],
)
def test_a_list_takes_or_leaves_out_its_ids_and_tells_those_that_the_corpus_lacks(
    key: str, taken: set[str], message: str, prefix: str, write: Any, read: Any
) -> None:
    ids = f"{prefix}3\tclicks\n\n{prefix}5\r\n{prefix}7\n"
    root = write({"metadata.csv": METADATA + "broken\n", "ids.txt": ids})
    found = read(root, reader="ljspeech", language="en", **{key: root / "ids.txt"})
    assert {one.id for one in found if isinstance(one, Utterance)} == taken
    others = [one for one in found if isinstance(one, Rejection) and one.reason == Reason.NOT_SELECTED]
    assert {one.id for one in others} == {f"x/{number}" for number in range(6)} - taken
    assert {one.message for one in others} == {f"{message} {root}/ids.txt ({key})"}
    bad = [one for one in found if isinstance(one, Rejection) and one.reason == Reason.BAD_METADATA_ROW]
    assert [one.id for one in bad] == ["x/metadata.csv:7", "x/ids.txt:4"]
    assert bad[-1].message.endswith(f"ids.txt line 4: the corpus has no utterance '{prefix}7'")


def test_both_lists_know_each_id_of_the_corpus(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA, "in.txt": "1\n2\n", "out.txt": "2\n3\n"})
    found = read(root, reader="ljspeech", language="en", include=root / "in.txt", exclude=root / "out.txt")
    assert [one.id for one in found if isinstance(one, Utterance)] == ["x/1"]
    assert {one.reason for one in found if isinstance(one, Rejection)} == {Reason.NOT_SELECTED}


def test_one_list_serves_several_sources(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA, "ids.txt": "x/1\ny/2\n3\nx/3\nz/4\n"})
    found = read(root, reader="ljspeech", language="en", exclude=root / "ids.txt", sharing=("y",))
    assert {one.id for one in found if isinstance(one, Utterance)} == {"x/0", "x/2", "x/4", "x/5"}
    bad = [one for one in found if isinstance(one, Rejection) and one.reason == Reason.BAD_METADATA_ROW]
    assert [one.message.rpartition(": ")[2] for one in bad] == ["the corpus has no utterance 'z/4'"]


def test_a_number_is_chosen_among_the_listed(write: Any, read: Any) -> None:
    root = write({"metadata.csv": METADATA, "ids.txt": "1\n2\n3\n"})
    found = read(root, reader="ljspeech", language="en", include=root / "ids.txt", max_utterances=2)
    assert len({one.id for one in found if isinstance(one, Utterance)} & {"x/1", "x/2", "x/3"}) == 2
    assert len(found) == 6


def test_a_list_that_cannot_be_read_is_one_line(write: Any, read: Any, tmp_path: Path) -> None:
    root = write({"metadata.csv": METADATA, "ids.txt": b"1\ncaf\xe9\n"})
    with pytest.raises(UserError, match=r"ids\.txt, line 2: not UTF-8: .*; expected an id"):
        read(root, reader="ljspeech", language="en", exclude=root / "ids.txt")
    with pytest.raises(UserError, match=r"absent\.txt: cannot read the metadata"):
        read(root, reader="ljspeech", language="en", include=root / "absent.txt")
