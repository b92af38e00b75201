"""Tokenizers other than NLLB's, of each kind that the library trains, against the library's own ids."""

from __future__ import annotations

from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from preprocess.text import prepare_text
from preprocess.tokens import Tokenizer
from shared.errors import UserError
from shared.languages import FIRST_ID, language_id
from shared.vocabulary import END_ID, UNKNOWN_ID

LINES = Path("tests/corpora/sentences/eng_Latn.txt").read_text("utf-8").splitlines()
SENTENCES = [prepare_text(line, language="eng_Latn").text for line in LINES]
SHIFT = 4  # the ids of NLLB's special tokens, 0 to 3, are not those of pieces


def byte_level() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    return made


def word_piece() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[UNK]", "[CLS]", "[PAD]"]
    made.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special))
    return made


def unigram() -> tokenizers.Tokenizer:
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(
        SENTENCES, trainers.UnigramTrainer(vocab_size=200, special_tokens=["<unk>"], unk_token="<unk>")
    )
    return made


def characters(*, unknown: str | None = "[UNK]") -> tokenizers.Tokenizer:
    """Each character is a word of its own, as phonemes may be."""
    letters = sorted({letter for line in SENTENCES for letter in line})
    vocabulary = {letter: number for number, letter in enumerate(([unknown] if unknown else []) + letters)}
    model = models.WordLevel(vocabulary, unk_token=unknown) if unknown else models.WordLevel(vocabulary)
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
    return made


KINDS = {"byte level": byte_level, "word piece": word_piece, "unigram": unigram, "characters": characters}


@pytest.fixture(params=KINDS)
def library(request: pytest.FixtureRequest) -> tokenizers.Tokenizer:
    return KINDS[request.param]()


def opened(library: tokenizers.Tokenizer, folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    library.save(str(path))
    return Tokenizer(str(path), kind="other")


def test_ids_are_the_librarys_raised_by_four(library: tokenizers.Tokenizer, tmp_path: Path) -> None:
    tokenizer = opened(library, tmp_path)
    for text in SENTENCES[:10]:
        first, *pieces, last = tokenizer.encode(text, language="eng_Latn")
        assert (first, last) == (language_id("eng_Latn"), END_ID)
        theirs = library.encode(text, add_special_tokens=False)
        assert UNKNOWN_ID not in pieces
        assert pieces == [own_id + SHIFT for own_id in theirs.ids]
        assert [piece for _, piece in tokenizer.encode_pieces(text, language="eng_Latn")][1:-1] == theirs.tokens


def test_the_vocabulary_has_every_piece_and_encodes_words_that_no_corpus_has(
    library: tokenizers.Tokenizer, tmp_path: Path
) -> None:
    tokenizer = opened(library, tmp_path)
    vocabulary = tokenizer.compact_vocabulary([], languages=["eng_Latn"])
    assert vocabulary.languages == ["eng_Latn"]
    special = {"[UNK]", "[CLS]", "[PAD]", "<unk>"}
    own = {own_id + SHIFT: piece for piece, own_id in library.get_vocab().items() if piece not in special}
    assert {token_id: piece for token_id, piece in vocabulary.by_id.items() if SHIFT <= token_id < FIRST_ID} == own
    for word in ("kettlesome", "unsinging"):
        tokens = tokenizer.encode_pieces(word, language="eng_Latn")
        dense = vocabulary.encode(tokens)
        assert [vocabulary.pieces[number] for number in dense] == [piece for _, piece in tokens]


def test_unknown_letters_are_unknown_or_bytes_and_never_vanish(library: tokenizers.Tokenizer, tmp_path: Path) -> None:
    tokenizer = opened(library, tmp_path)
    tokens = tokenizer.encode("the ж kettle", language="eng_Latn")
    if "Ġ" in library.get_vocab():
        assert UNKNOWN_ID not in tokens
        assert tokenizer.unknown_characters("the ж kettle", language="eng_Latn") == ""
        decoded = library.decode([one - SHIFT for one in tokens[1:-1]])
        assert decoded == "the ж kettle"
    else:
        assert UNKNOWN_ID in tokens
        assert tokenizer.unknown_characters("the ж kettжle", language="eng_Latn") == "ж"


def test_special_tokens_written_in_a_text_become_unknown(tmp_path: Path) -> None:
    tokens = opened(word_piece(), tmp_path).encode("the [CLS] kettle [PAD]", language="eng_Latn")
    assert tokens.count(UNKNOWN_ID) == 2
    made = byte_level()
    made.add_special_tokens(["<|endoftext|>"])
    assert opened(made, tmp_path).encode("the<|endoftext|> kettle", language="eng_Latn").count(UNKNOWN_ID) == 1


def test_bytes_are_known_to_a_tokenizer_that_falls_back_to_them(tmp_path: Path) -> None:
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *"the k"])}
    made = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=[], byte_fallback=True))
    tokens = opened(made, tmp_path).encode("the ж", language="eng_Latn")
    assert tokens[-3:-1] == (0xD0 + SHIFT, 0xB6 + SHIFT)


@pytest.mark.parametrize(
    "step",
    [pre_tokenizers.Whitespace(), pre_tokenizers.Metaspace(), pre_tokenizers.ByteLevel()],
    ids=["whitespace", "metaspace", "bytes of the corpus alone"],
)
def test_a_tokenizer_that_drops_unknown_letters_is_refused(tmp_path: Path, step: pre_tokenizers.PreTokenizer) -> None:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = step
    made.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=200))
    with pytest.raises(UserError, match="letters that it does not know vanish; give it an unknown token"):
        opened(made, tmp_path)


def test_a_tokenizer_that_draws_its_merges_encodes_a_text_the_same_each_time(tmp_path: Path) -> None:
    made = byte_level()
    made.model.dropout = 0.5
    assert len({tuple(made.encode(SENTENCES[0]).ids) for _ in range(20)}) > 1
    tokenizer = opened(made, tmp_path)
    assert '"dropout": 0.5' in (tmp_path / "tokenizer.json").read_text("utf-8")
    assert len({tokenizer.encode(SENTENCES[0], language="eng_Latn") for _ in range(20)}) == 1


def test_a_tokenizer_that_fails_at_unknown_letters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a letter that it does not know ends in an error"):
        opened(characters(unknown=None), tmp_path)


@pytest.mark.slow
def test_more_pieces_than_there_are_ids_below_the_languages_are_refused(tmp_path: Path) -> None:
    vocabulary = {f"piece{number}": number for number in range(FIRST_ID)}
    made = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="piece0"))
    with pytest.raises(UserError, match="pieces, expected at most 255,997; train a smaller one"):
        opened(made, tmp_path)


def test_as_nllbs_it_is_refused_and_the_message_names_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    word_piece().save(str(path))
    with pytest.raises(UserError, match="is it an NLLB tokenizer\\? Any other one needs tokenizer_kind: other"):
        Tokenizer(str(path))
