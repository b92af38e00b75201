"""Many utterances to shards to a verdict, on Apache Beam."""
