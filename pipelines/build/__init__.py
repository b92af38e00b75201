"""Raw corpora to a published dataset: listing, preparation, filtering, writing, publication."""
