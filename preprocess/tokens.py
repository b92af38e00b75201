"""The tokenizer: text to token ids, `[language] pieces </s>`.

nllb    NLLB-200's tokenizer or one with the same special tokens and languages under the same ids; pieces have the ids
        that NLLB-200 gives them
other   any `tokenizer.json` of Hugging Face's tokenizers; pieces have its ids raised by four

Special tokens and languages have NLLB-200's ids with either: see `piece_ids`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import huggingface_hub
import huggingface_hub.errors
import regex
import tokenizers

from preprocess.phonemizer import Phonemizer
from preprocess.piece_ids import SPECIAL_TOKENS, NllbIds, OtherIds, PieceIds, without_sampling
from shared.dataset import TokenizerIdentity
from shared.errors import UserError, cwd_hint
from shared.languages import language_id, unicode_scripts
from shared.vocabulary import END_ID, NLLB, UNKNOWN_ID, WORD_START, TokenizerKind, Vocabulary

FILE_NAME = "tokenizer.json"
HUB_TIMEOUT_S = 10.0
# the base of huggingface_hub's errors is the base of all errors of the HTTP library that it uses
_HTTP_ERRORS = tuple(base for base in huggingface_hub.errors.HfHubHTTPError.__bases__ if issubclass(base, Exception))


class Tokenizer:
    """A tokenizer from a `tokenizer.json` that is checked when it is opened."""

    def __init__(self, location: str, *, kind: TokenizerKind = NLLB, phonemizer: Phonemizer | None = None):
        """Open a tokenizer.

        Args:
            location: the path of a `tokenizer.json`, or a Hugging Face repository such as
                facebook/nllb-200-distilled-600M.
            kind: `nllb` or `other`.
            phonemizer: makes the phonemes that are tokenized in the place of the letters.

        Raises:
            UserError: it cannot be read or downloaded. Of kind `nllb`: its special or language tokens have other ids
                than NLLB's. Of kind `other`: it has too many pieces, or drops characters that it does not know.
        """
        self.kind, self.phonemizer = kind, phonemizer
        data = _read(location)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
            if kind != NLLB:
                self._tokenizer = tokenizers.Tokenizer.from_buffer(without_sampling(data))
        except ValueError as error:
            raise UserError(f"tokenizer {location}: not a tokenizer.json ({error})") from error
        # A published file can switch on truncation and padding; both would change the tokens.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        ids_of_kind = NllbIds if kind == NLLB else OtherIds
        self._record_id: PieceIds = ids_of_kind(self._tokenizer, location=location)
        size = self._tokenizer.get_vocab_size()
        self.identity = TokenizerIdentity(location=location, sha256=hashlib.sha256(data).hexdigest(), size=size)

    def encode(self, text: str, *, language: str) -> tuple[int, ...]:
        """Tokenize a prepared text: `[language] pieces </s>`, [T].

        Special tokens written in the text, such as "</s>", become <unk>.
        """
        return tuple(token_id for token_id, _ in self.encode_pieces(text, language=language))

    def encode_pieces(self, text: str, *, language: str) -> list[tuple[int, str]]:
        """Tokenize a prepared text as `encode` does, to (id, piece) pairs."""
        if self.phonemizer is not None:
            text = self.phonemizer(text, language=language)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        pieces = []
        for own_id, piece in zip(encoding.ids, encoding.tokens, strict=True):
            token_id = self._record_id(own_id)
            pieces.append((token_id, "<unk>" if token_id == UNKNOWN_ID else piece))
        return [(language_id(language), language), *pieces, (END_ID, "</s>")]

    def unknown_characters(self, text: str, *, language: str) -> str:
        """The characters of a prepared text, or its phonemes, that become <unk>: each once, by their code points."""
        if self.phonemizer is not None:
            text = self.phonemizer(text, language=language)
        unknown = {character for span in self._unknown_spans(text) for character in span}
        if self.kind != NLLB:  # some do not divide a word that has an unknown letter
            unknown = {one for one in unknown if self._unknown_spans(one)} or unknown
        return "".join(sorted(unknown - {" "}))

    def _unknown_spans(self, text: str) -> list[str]:
        """The parts of a text that become <unk>."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        return [text[start:stop] for own_id, (start, stop) in spans if self._record_id(own_id) == UNKNOWN_ID]

    def compact_vocabulary(self, used: Iterable[int], *, languages: Iterable[str]) -> Vocabulary:
        """The vocabulary of special tokens, used ids, languages, and pieces that spell words that were not used.

        With NLLB-200's tokenizer the last are the single characters of the languages' scripts; with another one, all
        pieces, since how they continue a word differs between tokenizers.
        """
        languages = sorted(languages)
        fixed = {token_id: token for token, token_id in SPECIAL_TOKENS.items()}
        fixed |= {language_id(language): language for language in languages}
        pieces = {self._record_id(own_id): piece for piece, own_id in self._tokenizer.get_vocab().items()}
        if self.kind == NLLB:
            alphabet, used = _alphabet(languages), set(used)
            pieces = {one: piece for one, piece in pieces.items() if one in used or _spells(piece, alphabet)}
        return Vocabulary(pieces | fixed)


def _read(location: str) -> bytes:
    path = Path(location)
    try:
        if not path.exists() and len(path.parts) == 2 and path.suffix != ".json":
            path = _download(location)
        return path.read_bytes()
    except (OSError, huggingface_hub.errors.HFValidationError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        found = f"cannot be read ({reason}){cwd_hint(location) if path.suffix == '.json' else ''}"
        raise UserError(f"tokenizer {location}: {found}; expected the path of a tokenizer.json") from error


def _download(repository: str) -> Path:
    """The `tokenizer.json` of a hub repository, from the local cache where the hub cannot be reached."""
    try:
        # One request decides: hf_hub_download repeats its own for half a minute, and logs a line for each.
        url = huggingface_hub.hf_hub_url(repository, FILE_NAME)
        huggingface_hub.get_hf_file_metadata(url, timeout=HUB_TIMEOUT_S)
    except _HTTP_ERRORS as error:
        try:
            return Path(huggingface_hub.hf_hub_download(repository, FILE_NAME, local_files_only=True))
        except huggingface_hub.errors.LocalEntryNotFoundError:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            remedy = f"download it elsewhere and give its path: tokenizer=/path/to/{FILE_NAME}"
            raise UserError(f"tokenizer {repository}: cannot be downloaded ({reason}); {remedy}") from error
    return Path(huggingface_hub.hf_hub_download(repository, FILE_NAME))


def _alphabet(languages: list[str]) -> regex.Pattern[str]:
    """A pattern of one character in the scripts of these languages."""
    names = {name for code in languages for name in unicode_scripts(code)}
    return regex.compile("|".join(rf"\p{{Script={name}}}" for name in (*sorted(names), "Zyyy", "Zinh")))


def _spells(piece: str, alphabet: regex.Pattern[str]) -> bool:
    return len(piece) == 1 and (piece == WORD_START or alphabet.fullmatch(piece) is not None)
