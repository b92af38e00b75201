"""Batches that fill a device's memory as the largest real ones do."""

from __future__ import annotations

import tensorflow as tf

from shared.dataset import Dataset
from tests.trainer.batches import make_stream
from trainer.data.bucket_types import Bucket
from trainer.distributed.device_memory import full_batch


def test_a_full_batch_has_the_fields_and_shapes_of_a_real_one_and_no_padding(dataset: Dataset) -> None:
    stream, _, _ = make_stream(dataset, reference="other", crop_frames=32)
    batch = full_batch(Bucket(3, 40, 12), like=stream.element_spec)
    assert {name: tuple(value.shape) for name, value in batch.items()} == {
        "mel": (3, 40, 80),
        "frames": (3,),
        "tokens": (3, 12),
        "token_counts": (3,),
        "rows": (3,),
        "reference": (3, 32, 80),
        "reference_frames": (3,),
    }
    for name, value in {"frames": 40, "token_counts": 12, "reference_frames": 32}.items():
        assert batch[name].numpy().tolist() == [value] * 3
    assert {name: one.dtype for name, one in batch.items()} == {
        name: spec.dtype for name, spec in stream.element_spec.items() if name != "next"
    }
    assert batch["mel"].dtype == tf.float16
