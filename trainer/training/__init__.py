"""The training loop: data, training step, losses, validation and recovery."""
