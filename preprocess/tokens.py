"""The tokenizer: text to NLLB-200 token ids in NLLB's current layout, `[language] pieces </s>`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import huggingface_hub
import huggingface_hub.errors
import regex
import tokenizers

from shared.dataset import TokenizerIdentity
from shared.errors import UserError, cwd_hint
from shared.languages import CODES, FIRST_ID, language_id, unicode_scripts
from shared.vocabulary import END_ID, PAD_ID, SPECIAL_IDS, UNKNOWN_ID, WORD_START, Vocabulary

FILE_NAME = "tokenizer.json"
HUB_TIMEOUT_S = 10.0
# the base of huggingface_hub's errors is the base of all errors of the HTTP library that it uses
_HTTP_ERRORS = tuple(base for base in huggingface_hub.errors.HfHubHTTPError.__bases__ if issubclass(base, Exception))

_EXPECTED_IDS = {"<pad>": PAD_ID, "</s>": END_ID, "<unk>": UNKNOWN_ID}


class Tokenizer:
    """A tokenizer with NLLB's token ids, from a `tokenizer.json` that is checked when it is opened."""

    def __init__(self, location: str):
        """Open a tokenizer.

        Args:
            location: the path of a `tokenizer.json`, or a Hugging Face repository such as
                facebook/nllb-200-distilled-600M.

        Raises:
            UserError: it cannot be read or downloaded, or its special or language tokens have other ids than NLLB's.
        """
        data = _read(location)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_buffer(data)
        except ValueError as error:
            raise UserError(f"tokenizer {location}: not a tokenizer.json ({error})") from error
        # A published file can switch on truncation and padding; both would change the tokens.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        _check_layout(self._tokenizer, location=location)
        size = self._tokenizer.get_vocab_size()
        self.identity = TokenizerIdentity(location=location, sha256=hashlib.sha256(data).hexdigest(), size=size)

    def encode(self, text: str, *, language: str) -> tuple[int, ...]:
        """Tokenize a prepared text: `[language] pieces </s>`, [T].

        Special tokens written in the text, such as "</s>", become <unk>.
        """
        return tuple(nllb_id for nllb_id, _ in self.encode_pieces(text, language=language))

    def encode_pieces(self, text: str, *, language: str) -> list[tuple[int, str]]:
        """Tokenize a prepared text as `encode` does, to (id, piece) pairs."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        pieces = [
            (nllb_id, piece) if _is_piece(nllb_id) else (UNKNOWN_ID, "<unk>")
            for nllb_id, piece in zip(encoding.ids, encoding.tokens, strict=True)
        ]
        return [(language_id(language), language), *pieces, (END_ID, "</s>")]

    def unknown_characters(self, text: str) -> str:
        """The characters of a prepared text that become <unk>, each once, in the order of their code points."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        unknown = {c for nllb_id, (start, stop) in spans if not _is_piece(nllb_id) for c in text[start:stop]}
        return "".join(sorted(unknown - {" "}))

    def compact_vocabulary(self, used: Iterable[int], *, languages: Iterable[str]) -> Vocabulary:
        """The vocabulary of special tokens, used ids, languages, and single-character pieces of their scripts."""
        languages = sorted(languages)
        pieces = {nllb_id: piece for piece, nllb_id in self._tokenizer.get_vocab().items()}
        kept = {*SPECIAL_IDS, *used, *map(language_id, languages)}
        alphabet = _alphabet(languages)
        kept.update(nllb_id for nllb_id, piece in pieces.items() if _spells(piece, alphabet))
        return Vocabulary({nllb_id: pieces[nllb_id] for nllb_id in kept})


def _is_piece(nllb_id: int) -> bool:
    return max(SPECIAL_IDS) < nllb_id < FIRST_ID


def _read(location: str) -> bytes:
    path = Path(location)
    try:
        if not path.exists() and len(path.parts) == 2 and path.suffix != ".json":
            path = _download(location)
        return path.read_bytes()
    except (OSError, huggingface_hub.errors.HFValidationError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        found = f"cannot be read ({reason}){cwd_hint(location) if path.suffix == '.json' else ''}"
        raise UserError(f"tokenizer {location}: {found}; expected the path of a tokenizer.json of NLLB-200") from error


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


def _check_layout(tokenizer: tokenizers.Tokenizer, *, location: str) -> None:
    expected = _EXPECTED_IDS | {code: FIRST_ID + index for index, code in enumerate(CODES)}
    for token, nllb_id in expected.items():
        found = tokenizer.token_to_id(token)
        if found != nllb_id:
            raise UserError(
                f"tokenizer {location}: {token} has id {found}, expected NLLB-200's {nllb_id}; is it an NLLB tokenizer?"
            )


def _alphabet(languages: list[str]) -> regex.Pattern[str]:
    """A pattern of one character in the scripts of these languages."""
    names = {name for code in languages for name in unicode_scripts(code)}
    return regex.compile("|".join(rf"\p{{Script={name}}}" for name in (*sorted(names), "Zyyy", "Zinh")))


def _spells(piece: str, alphabet: regex.Pattern[str]) -> bool:
    return len(piece) == 1 and (piece == WORD_START or alphabet.fullmatch(piece) is not None)
