"""How a candidate's text and its row become one program that can be run."""
