"""From shards to batches on the device, in TensorFlow operations only."""
