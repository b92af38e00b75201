"""The split of each utterance: listed, or the corpus' own one, or by a stable hash of its text, speaker or id."""

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
    """The hash rule, and the utterances and speakers that always belong to validation or test."""

    validation_fraction: float
    split_by: str
    test_fraction: float = 0.0
    held_out: Mapping[str, str] = {}  # name of an utterance or a speaker -> its split
    held_out_people: Mapping[str, str] = {}  # split by speaker: person, all of whose voices are held out -> the split
    registries: Mapping[str, str] = {}  # source -> whose numbers its speakers are
    groups: Mapping[str, str] = {}  # speaker, with the registry in the place of its source -> the name of the person
    grouped: frozenset[str] = frozenset()  # the names in the list of groups

    @classmethod
    def from_config(cls, config: BuildConfig) -> SplitRule:
        """The rule of a config.

        Raises:
            UserError: a list of held-out names or of speaker groups cannot be read, or both lists hold out one name.
        """
        held_out = _read_held_out(config)
        sources = config.sources.items()
        registries = {name: one.speaker_registry for name, one in sources if one.speaker_registry and not one.speaker}
        listed = [] if config.speaker_groups is None else _read_groups(config.speaker_groups)
        groups = _joined([[_registered(name, registries=registries) for name in names] for names in listed])
        names = frozenset(name for group in listed for name in group)
        rule = cls(
            config.validation_fraction,
            config.split_by,
            config.test_fraction,
            held_out,
            groups=groups,
            registries=registries,
            grouped=names,
        )
        return rule._replace(held_out_people=rule._people(held_out)) if config.split_by == "speaker" else rule

    def split_of(self, element: Utterance | Rejection) -> str:
        """`train`, `validation` or `test`; a rejected row is split by its id."""
        if isinstance(element, Rejection):
            return self._by_hash(element.id)
        for name in (element.id, element.speaker):
            if name in self.held_out:
                return self.held_out[name]
        if self.held_out_people and (person := self.person(element.speaker)) in self.held_out_people:
            return self.held_out_people[person]
        return element.split or self._by_hash(self._split_key(element))

    def _by_hash(self, key: str) -> str:
        return split_of(key, validation_fraction=self.validation_fraction, test_fraction=self.test_fraction)

    def _people(self, held_out: Mapping[str, str]) -> dict[str, str]:
        """Person -> split.

        Raises:
            UserError: both lists hold out voices of one person.
        """
        people: dict[str, str] = {}
        for name, split in held_out.items():
            if people.setdefault(person := self.person(name), split) != split:
                raise UserError(f"held_out, held_out_for_test: both have a voice of {person}; expected one of them")
        return people

    def _split_key(self, utterance: Utterance) -> str:
        if self.split_by == "speaker":
            return self.person(utterance.speaker)
        return (self.split_by == "text" and spoken_form(utterance.text)) or utterance.id

    def person(self, speaker: str) -> str:
        """The name of the person behind a speaker: one name in all sources that share the person."""
        name = _registered(speaker, registries=self.registries)
        return self.groups.get(name, name)


class SpeakerSplits:
    """Checks that a split by speaker puts each person into one split, also where corpora state their own splits."""

    def __init__(self, rule: SplitRule):
        self._rule, self._splits = rule, dict[str, str]()
        self._divided: dict[str, str] = {}  # person -> another split than the first one

    def add(self, element: Utterance | Rejection, *, split: str) -> None:
        """Add an utterance of a split; one that is held out by its id does not count."""
        if self._rule.split_by != "speaker" or isinstance(element, Rejection) or element.id in self._rule.held_out:
            return
        person = self._rule.person(element.speaker)
        if self._splits.setdefault(person, split) != split:
            self._divided[person] = split

    def check(self) -> None:
        """Raise UserError if a person is in two splits."""
        if self._divided:
            person = min(self._divided)
            where = " and ".join(sorted({self._splits[person], self._divided[person]}))
            raise UserError(
                f"split_by: speaker, but {len(self._divided)} are in two splits, such as {person} in {where}: "
                "sources state splits of their own (official_splits, columns.split); expected split_by: text or "
                "utterance, or sources that agree on the speakers"
            )


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


def _read_held_out(config: BuildConfig) -> dict[str, str]:
    """Name of an utterance or a speaker -> the split for which the config holds it out.

    Raises:
        UserError: a list cannot be read, or both lists have one name.
    """
    lists = {"validation": ("held_out", config.held_out), "test": ("held_out_for_test", config.held_out_for_test)}
    held_out: dict[str, str] = {}
    for split, (setting, path) in lists.items():
        for name in _read_lines(path, of=setting) if path is not None else ():
            if held_out.setdefault(name, split) != split:
                raise UserError(f"{setting}: {path} has {name}, which held_out has, too; expected it in one of the two")
    return held_out


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
        others = (name for name, of in people.items() if of in known) if known else ()
        people |= dict.fromkeys([*names, *others], person)
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
