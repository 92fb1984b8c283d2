"""Generation by transformers: the engine, and the KV-cache decoder that the trainer shares."""
