"""SPICE (arXiv 2510.24684): one model asks questions from documents, and answers them without the documents."""
