"""The expected bytes of a record follow from its manifest row, and valid records need no parsing."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.execution.progress_counter import ProgressCounter
from pipelines.validation import record_inspector as records
from pipelines.validation.expected_bytes import FrameTemplates
from pipelines.validation.manifest_rows import parse_rows
from pipelines.validation.record_inspector import RecordInspector
from shared.dataset import Dataset
from shared.layout import ShardName
from shared.records import decode
from shared.tables import MANIFEST
from shared.tfrecord import checksum, frame_record
from tests.pipelines import damage


def test_the_template_of_a_row_surrounds_the_mel_and_the_tokens_of_its_record(sample: Path, ljspeech: Path) -> None:
    for data in (sample, ljspeech):
        dataset = Dataset.open(data)
        speakers = {name: speaker.id for name, speaker in dataset.info.speakers.items()}
        templates = FrameTemplates(contract=dataset.info.contract, speakers=speakers)
        for stem in damage.stems(data):
            rows = parse_rows(pq.read_table(dataset.layout.manifest(stem), schema=MANIFEST))
            for row, payload in zip(rows, damage.payloads(data, stem=stem), strict=True):
                template, framed = templates.of(row), frame_record(payload)
                assert template is not None
                head, mel_end, middle, tokens_end, tail = template
                mel, tokens = framed[len(head) : mel_end], framed[mel_end + len(middle) : tokens_end]
                assert framed == head + mel + middle + tokens + tail + checksum(payload)
                assert decode(payload)["mel"] == [mel]


def test_no_valid_record_is_parsed(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(records, "parse_record")
    dataset = Dataset.open(sample)
    speakers = {name: speaker.id for name, speaker in dataset.info.speakers.items()}
    for stem in damage.stems(sample):
        rows = parse_rows(pq.read_table(dataset.layout.manifest(stem), schema=MANIFEST))
        file = RecordInspector(
            shard_name=ShardName.parse(stem), rows=rows, contract=dataset.info.contract, speakers=speakers
        )
        assert file.inspect(dataset.layout.shard(stem), counter=ProgressCounter(tmp_path, name=stem)) == []
        assert file.totals().records == len(rows)
