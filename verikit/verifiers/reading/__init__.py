"""What several verifiers need to read a reply and its row: fences, JSON, stated answers, golds, whose fault it is."""
