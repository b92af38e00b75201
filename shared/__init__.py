"""The contract: what preparation and training must agree on."""
