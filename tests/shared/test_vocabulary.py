from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.vocabulary import NUM_NLLB_IDS, Vocabulary

PIECES = {1: "<pad>", 2: "</s>", 3: "<unk>", 9: "▁a", 20: "b", 21: "c", 30: "▁", 400: "▁abc", 256047: "eng_Latn"}
VOCABULARY = Vocabulary(PIECES)
vocabularies = st.dictionaries(
    st.integers(4, NUM_NLLB_IDS - 1), st.text(st.characters(exclude_categories=["Cs"])), max_size=30
).map(lambda more: Vocabulary({1: "<pad>", 2: "</s>", 3: "<unk>"} | more))


def test_dense_ids_number_the_nllb_ids_in_their_order() -> None:
    assert len(VOCABULARY) == len(PIECES)
    assert VOCABULARY.nllb_ids.tolist() == sorted(PIECES)
    assert VOCABULARY.pieces == tuple(PIECES[nllb_id] for nllb_id in sorted(PIECES))


def test_the_table_maps_every_nllb_id_and_the_strange_ones_to_unknown() -> None:
    table = VOCABULARY.table()
    dense = {nllb_id: index for index, nllb_id in enumerate(sorted(PIECES))}
    assert table.shape == (NUM_NLLB_IDS,)
    assert all(table[nllb_id] == dense.get(nllb_id, dense[3]) for nllb_id in (*range(500), 256046, 256047, 256203))


@given(vocabularies)
def test_the_table_and_encode_agree(vocabulary: Vocabulary) -> None:
    tokens = list(zip(vocabulary.nllb_ids.tolist(), vocabulary.pieces, strict=True))
    assert vocabulary.encode(tokens) == vocabulary.table()[vocabulary.nllb_ids].tolist() == list(range(len(vocabulary)))


def test_a_piece_outside_is_spelled_and_a_character_outside_is_unknown() -> None:
    tokens = [(256047, "eng_Latn"), (777, "▁bcb"), (778, "bz"), (2, "</s>")]
    dense = VOCABULARY.encode(tokens)
    assert [VOCABULARY.pieces[one] for one in dense] == ["eng_Latn", "▁", "b", "c", "b", "b", "<unk>", "</s>"]


@given(st.text("▁abc", min_size=1, max_size=8))
def test_it_is_spelled_in_the_fewest_pieces_by_brute_force_over_all_ways_to_cut_it(piece: str) -> None:
    known = {"▁a", "b", "c", "▁", "▁abc"}

    def cost(cut: tuple[bool, ...]) -> tuple[int, int] | None:
        ends = [*(place + 1 for place, is_cut in enumerate(cut) if is_cut), len(piece)]
        parts = [piece[start:end] for start, end in itertools.pairwise([0, *ends])]
        unknown = sum(part not in known for part in parts)
        return (unknown, len(parts)) if all(part in known or len(part) == 1 for part in parts) else None

    costs = map(cost, itertools.product([False, True], repeat=len(piece) - 1))
    dense = VOCABULARY.encode([(777, piece)])
    spelled = [VOCABULARY.pieces[one] for one in dense]
    assert (spelled.count("<unk>"), len(spelled)) == min(one for one in costs if one)
    letters = [letter for one in spelled for letter in (["?"] if one == "<unk>" else one)]
    assert len(letters) == len(piece)
    assert all(letter in ("?", expected) for letter, expected in zip(letters, piece, strict=True))


@given(vocabularies)
def test_a_file_holds_the_whole_vocabulary(vocabulary: Vocabulary) -> None:
    rows = json.loads(vocabulary.to_json())
    again = Vocabulary({nllb_id: piece for nllb_id, piece in rows})
    assert (again.pieces, again.sha256) == (vocabulary.pieces, vocabulary.sha256)


def test_load_reads_what_to_json_wrote(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_bytes(VOCABULARY.to_json())
    assert Vocabulary.load(tmp_path / "vocab.json").to_json() == VOCABULARY.to_json()


def test_the_hash_sees_an_id_and_a_piece() -> None:
    hashes = {Vocabulary(PIECES | more).sha256 for more in ({}, {20: "x"}, {22: "d"})}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"5",
        b"[]",
        b'{"1": "a"}',
        b"[[1]]",
        b'[[1, "<pad>"], [2, "</s>"]]',
        b'[[0, "<s>"], [1, "<pad>"], [2, "</s>"], [3, "<unk>"]]',
        b'[["one", "<pad>"]]',
        b'[[1e400, "<pad>"]]',
        b'[[1, "<pad>"], [2, "</s>"], [3, "<unk>"], [99999999999999999999999, "x"]]',
        b'[[1, "<pad>"], [2, "</s>"], [3, "<unk>"], [256204, "x"]]',
        b"[" * 100_000,
        VOCABULARY.to_json()[:-10],
    ],
)
def test_a_broken_file_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"vocab\.json: not a readable vocabulary") as caught:
        Vocabulary.load(path)
    assert "\n" not in str(caught.value)


def test_an_absent_file_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vocab\.json: not a readable vocabulary .*; run `make preprocess` again"):
        Vocabulary.load(tmp_path / "vocab.json")
