"""How is the reply written? Its length, repetitions, language, and refusals."""
