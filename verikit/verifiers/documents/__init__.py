"""Is the reply a document of this form? JSON by schema, YAML, TOML, CSV, XML."""
