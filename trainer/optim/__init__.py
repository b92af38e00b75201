"""Optimizer: AdamW in the compiled step, learning-rate schedules, weight averaging, loss scaling, plateaus."""
