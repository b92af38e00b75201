"""What a run keeps on disk: the run folder, checkpoints, and the state that a checkpoint restores."""
