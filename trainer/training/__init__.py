"""The training loop: data, step, losses, validation, recovery."""
