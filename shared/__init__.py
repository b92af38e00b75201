"""The contract: the formats and settings that data preparation and training share."""
