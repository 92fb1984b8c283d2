"""How is the reply written? Its length, repetitions, language, and whether it refuses."""
