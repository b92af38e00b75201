"""Commands beside training: doctor, profile, export, evaluate, pictures of the input."""
