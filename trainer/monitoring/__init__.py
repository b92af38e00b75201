"""Reports of a run: metrics, TensorBoard, terminal, HTML pages, step times, GPU statistics."""
