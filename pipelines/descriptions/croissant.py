"""`DATA/croissant.json`: the dataset in Croissant 1.1 (MLCommons), for mlcroissant and for search engines of datasets.

The record set `utterances` has a field for each column of the manifests. The records of mels and tokens are a file set
without fields, because Croissant has no format for TFRecords: TensorFlow Datasets reads them. Who publishes the dataset
adds `url`, `creator` and `datePublished`, which Croissant asks for and no build knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from pipelines.descriptions.totals import hours_in_words, num_records, token_ids
from shared.dataset import SCHEMA_VERSION, DatasetInfo
from shared.records import NO_PITCH
from shared.tables import MANIFEST

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
# terms of the vocabulary of Croissant that documents use without its prefix
_TERMS = (
    *("arrayShape", "citeAs", "column", "dataBiases", "dataCollection", "extract", "field"),
    *("fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key"),
    *("md5", "parentField", "path", "personalSensitiveInformation", "recordSet", "references", "regex", "repeated"),
    *("replace", "separator", "source", "subField", "transform"),
)
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
_DATA_TYPES = {pa.string(): "sc:Text", pa.int64(): "cr:Int64", pa.float64(): "cr:Float64", pa.bool_(): "sc:Boolean"}


def croissant(info: DatasetInfo, *, licenses: Mapping[str, str | None], columns: Sequence[str]) -> dict:
    """The document.

    Args:
        licenses: those of the sources.
        columns: names of the columns of the manifests; older versions wrote fewer.
    """
    stated = sorted({one for one in licenses.values() if one is not None})
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": "myxtts-" + "-".join(sorted(info.sources)),
        "description": describe(info),
        "version": f"{SCHEMA_VERSION}.0.0",
        **({"license": stated} if stated else {}),
        "inLanguage": sorted(info.languages),
        "keywords": ["text-to-speech", "speech", "mel spectrogram", info.contract.features.name],
        "distribution": [
            _file_set(
                "manifest", "manifest/*.parquet", "application/x-parquet", "A row of text and measures per record."
            ),
            _file_set(
                "records",
                "shards/*.tfrecord",
                "application/x-tfrecord",
                "Mel and token ids, a record per utterance.",
            ),
        ],
        "recordSet": [_utterances(columns)],
    }


def describe(info: DatasetInfo) -> str:
    """The dataset in two sentences."""
    languages, what = ", ".join(sorted(info.languages)), "frames" if info.contract.stores_mels else "moments"
    contract = info.contract
    more = ", waveforms" * contract.stores_waveforms + ", pitch" * (contract.pitch != NO_PITCH)
    return (
        f"{num_records(info):,} utterances, {hours_in_words(info, info.shards)} of speech "
        f"by {len(info.speakers):,} speakers, in {languages}. "
        f"Mel {what} ({contract.features.name}, ln magnitude){more}{', energy' * contract.energy} and "
        f"{token_ids(contract)} to train text-to-speech with; "
        f"contract {info.fingerprint}."
    )


def _file_set(name: str, includes: str, encoding_format: str, description: str) -> dict:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": description,
        "encodingFormat": encoding_format,
        "includes": includes,
    }


def _utterances(columns: Sequence[str]) -> dict:
    return {
        "@type": "cr:RecordSet",
        "@id": "utterances",
        "name": "utterances",
        "description": "Position, texts, recording, measures and custom columns of each utterance that has a record.",
        "key": {"@id": "utterances/utterance_id"},
        "field": [_field(column) for column in MANIFEST if column.name in columns],
    }


def _field(column: pa.Field) -> dict:
    return {
        "@type": "cr:Field",
        "@id": f"utterances/{column.name}",
        "name": f"utterances/{column.name}",
        "dataType": _DATA_TYPES[column.type],
        "source": {"fileSet": {"@id": "manifest"}, "extract": {"column": column.name}},
    }
