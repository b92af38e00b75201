"""Every setting of the trainer; this package imports pydantic and no TensorFlow."""
