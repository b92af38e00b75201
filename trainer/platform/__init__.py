"""What this machine offers TensorFlow: allocator, GPU support, start-up and error messages."""
