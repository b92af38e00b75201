"""`DATA/README.md`: the card of a dataset, for people and for Hugging Face, whose `datasets` reads its first lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import yaml

from pipelines.descriptions.croissant import describe
from pipelines.descriptions.licenses import NOT_STATED
from pipelines.descriptions.totals import hours_in_words, num_records
from shared.dataset import DatasetInfo
from shared.languages import iso_639_1
from shared.layout import SPLITS, TRAINING_SPLITS

MARK = "<!-- `make report` rewrites this file. Delete this line to keep your own changes. -->"

_HUB_LICENSES = frozenset(
    {"apache-2.0", "mit", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc-by-nc-4.0"}
)
# upper bounds of the sizes that Hugging Face names
_SIZES = {
    10**3: "n<1K",
    10**4: "1K<n<10K",
    10**5: "10K<n<100K",
    10**6: "100K<n<1M",
    10**7: "1M<n<10M",
    10**8: "10M<n<100M",
}


def card(info: DatasetInfo, *, licenses: Mapping[str, str | None]) -> str:
    """The card as Markdown; `licenses` are those of the sources."""
    head = yaml.safe_dump(_head(info, licenses=licenses), sort_keys=False, allow_unicode=True)
    return "\n".join([f"---\n{head}---\n{MARK}\n", *_lines(info, licenses=licenses)]) + "\n"


def _head(info: DatasetInfo, *, licenses: Mapping[str, str | None]) -> dict:
    records = num_records(info)
    files = [{"split": split, "path": _manifests(info, split)} for split in SPLITS if _has_records(info, split)]
    return {
        "pretty_name": ", ".join(sorted(info.sources)),
        "language": sorted({iso_639_1(code) for code in info.languages}),
        **_license(licenses),
        "task_categories": ["text-to-speech"],
        "size_categories": [next((name for bound, name in _SIZES.items() if records < bound), "n>100M")],
        "configs": [{"config_name": "manifest", "data_files": files}],
    }


def _manifests(info: DatasetInfo, split: str) -> str | list[str]:
    """The paths of a split's manifests: a pattern, or a list without those of no rows, which `datasets` cannot read."""
    shards = list(info.shards_of(split))
    if all(shard.records for shard in shards):
        return f"manifest/*-{split}-*.parquet"
    return [f"manifest/{shard.name}.parquet" for shard in shards if shard.records]


def _has_records(info: DatasetInfo, split: str) -> bool:
    return any(shard.records for shard in info.shards_of(split))


def _license(licenses: Mapping[str, str | None]) -> dict[str, str]:
    """The Hub's own name of the licence of all sources, if it has one."""
    names = sorted({one or NOT_STATED for one in licenses.values()})
    if names == [NOT_STATED]:
        return {"license": "unknown"}
    if len(names) == 1 and names[0].lower() in _HUB_LICENSES:
        return {"license": names[0].lower()}
    return {"license": "other", "license_name": ", ".join(names)}


def _lines(info: DatasetInfo, *, licenses: Mapping[str, str | None]) -> Iterator[str]:
    yield f"# {', '.join(sorted(info.sources))}\n"
    yield describe(info) + "\n"
    splits = [split for split in SPLITS if split in TRAINING_SPLITS or _has_records(info, split)]
    lengths = " | ".join({"train": "training"}.get(split, split) for split in splits)
    yield f"| source | reader | languages | licence | read | written | rejected | {lengths} |"
    yield f"|{'---|' * (7 + len(splits))}"
    yield from (_source(info, name, licenses.get(name), splits=splits) for name in sorted(info.sources))
    yield "\nThe tables in `rejected/` say why an utterance was rejected; `report.html` has histograms and clips.\n"
    yield "| language | records |\n|---|---|"
    yield from (f"| {code} | {one.records:,} |" for code, one in sorted(info.languages.items()))
    yield "\n## Read it\n"
    yield "- the records: `tfds.builder_from_directory(FOLDER)` (TensorFlow Datasets)"
    yield "- the manifest: `datasets.load_dataset(FOLDER)`, mlcroissant (`croissant.json`), any reader of Parquet"
    yield "- to check that all files are as they were published: `sha256sum --check --quiet _SUCCESS`\n"
    yield "## Provenance\n"
    yield "`config.yaml` has every setting of the build, the manifest the sha256 of each recording. Made by:\n"
    yield from (f"- {name}: {', '.join(versions)}" for name, versions in sorted(info.made_by.items()))
    if normalizer := info.contract.text_normalizer:
        yield f"- text_normalizer {normalizer.name}: {normalizer.distribution} {normalizer.version}"
    if phonemizer := info.contract.phonemizer:
        yield f"- phonemizer {phonemizer.name} {phonemizer.version}"


def _source(info: DatasetInfo, name: str, license_: str | None, *, splits: Sequence[str]) -> str:
    source = info.sources[name]
    lengths = (hours_in_words(info, [one for one in source.shards if one.split == split]) for split in splits)
    cells = (name, source.reader, ", ".join(source.languages), license_ or NOT_STATED)
    counts = (f"{count:,}" for count in (source.read, source.written, source.rejected))
    return f"| {' | '.join((*cells, *counts, *lengths))} |"
