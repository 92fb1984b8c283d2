"""Is the reply a well-formed document? JSON by schema, YAML, TOML, CSV, XML."""
