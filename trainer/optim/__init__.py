"""How weights are updated: schedules of the learning rate, and AdamW as part of the compiled step."""
