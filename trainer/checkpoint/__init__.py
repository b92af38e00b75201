"""What a run keeps on disk: its folder, its checkpoints, and the state that a checkpoint restores."""
