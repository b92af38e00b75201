"""The split of each utterance, train or validation: by a stable hash of its text, speaker or id."""

from __future__ import annotations

import collections
import hashlib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipelines.config import BuildConfig
from preprocess.text import spoken_characters
from preprocess.utterance import Rejection, Utterance
from shared.errors import UserError
from shared.hashing import split_of

MAX_LIST_BYTES = 1 << 28

_SILENT_ASCII = bytes(code for code in range(128) if not chr(code).isalnum())


class SplitRule(NamedTuple):
    """The hash rule, and the names of utterances and speakers that always belong to validation."""

    validation_fraction: float
    split_by: str
    held_out: frozenset[str] = frozenset()
    held_out_people: frozenset[str] = frozenset()  # split by speaker, all of whose voices are held out
    registries: Mapping[str, str] = {}  # source -> whose numbers its speakers are
    groups: Mapping[str, str] = {}  # speaker, with the registry in the place of its source -> the name of the person
    grouped: frozenset[str] = frozenset()  # the names in the list of groups

    @classmethod
    def from_config(cls, config: BuildConfig) -> SplitRule:
        """The rule of a config.

        Raises:
            UserError: the list of held-out names or of speaker groups cannot be read.
        """
        held_out = frozenset() if config.held_out is None else frozenset(_read_lines(config.held_out, of="held_out"))
        sources = config.sources.items()
        registries = {name: one.speaker_registry for name, one in sources if one.speaker_registry and not one.speaker}
        listed = [] if config.speaker_groups is None else _read_groups(config.speaker_groups)
        groups = _joined([[_registered(name, registries=registries) for name in names] for names in listed])
        names = frozenset(name for group in listed for name in group)
        rule = cls(
            config.validation_fraction, config.split_by, held_out, groups=groups, registries=registries, grouped=names
        )
        people = map(rule._person, held_out) if config.split_by == "speaker" else ()
        return rule._replace(held_out_people=frozenset(people))

    def split_of(self, element: Utterance | Rejection) -> str:
        """`train` or `validation`; a rejected row is split by its id."""
        if isinstance(element, Rejection):
            return split_of(element.id, validation_fraction=self.validation_fraction)
        if element.id in self.held_out or element.speaker in self.held_out:
            return "validation"
        if self.held_out_people and self._person(element.speaker) in self.held_out_people:
            return "validation"
        return split_of(self._split_key(element), validation_fraction=self.validation_fraction)

    def _split_key(self, utterance: Utterance) -> str:
        if self.split_by == "speaker":
            return self._person(utterance.speaker)
        return (self.split_by == "text" and spoken_form(utterance.text)) or utterance.id

    def _person(self, speaker: str) -> str:
        """The name of the person behind a speaker: one name in all sources that share the person."""
        name = _registered(speaker, registries=self.registries)
        return self.groups.get(name, name)


def spoken_form(text: str) -> str:
    """The text in lower case without punctuation and spaces: two texts with the same form sound the same."""
    if text.isascii():  # the same result in a tenth of the time
        return text.encode().lower().translate(None, _SILENT_ASCII).decode()
    return spoken_characters(unicodedata.normalize("NFKC", text).casefold())


def text_key(text: str, *, utterance_id: str) -> int:
    """64-bit hash of a text's spoken form, or of the id for a text without letters and digits."""
    form = spoken_form(text) or utterance_id
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "big")


def _registered(speaker: str, *, registries: Mapping[str, str]) -> str:
    """The speaker's name with the registry of its numbers in the place of its source."""
    source, _, name = speaker.partition("/")
    return f"{registries.get(source, source)}/{name}"


def _read_groups(path: Path) -> list[list[str]]:
    """The names on each line.

    Raises:
        UserError: the list cannot be read, or has a name twice.
    """
    groups = [[name.strip() for name in line.split("\t")] for line in _read_lines(path, of="speaker_groups")]
    counts = collections.Counter(name for names in groups for name in names)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise UserError(f"speaker_groups: {path} has {twice[0]} twice; expected all names of a person on one line")
    return groups


def _joined(groups: list[list[str]]) -> dict[str, str]:
    """Speaker -> the name of the person; groups that share a name, as two of a registry may, are one person."""
    people: dict[str, str] = {}
    for names in groups:
        known = {people[name] for name in names if name in people}
        person = min(known, default=names[0])
        people |= dict.fromkeys([*names, *(name for name, of in people.items() if of in known)], person)
    return people


def _read_lines(path: Path, *, of: str) -> list[str]:
    """The lines of a list of names that are not empty.

    Args:
        of: the setting, for messages.
    """
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            raise UserError(f"{of}: {path} is over {MAX_LIST_BYTES} bytes; expected one name per line")
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # names may contain Unicode's other line ends
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise UserError(f"{of}: {path}: {reason}; expected one name per line") from error
    return [name for line in lines if (name := line.strip(" \t"))]
