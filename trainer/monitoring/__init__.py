"""What a run reports: metrics, TensorBoard, terminal, `summary.html`, step times, GPU use."""
