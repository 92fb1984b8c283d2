"""SPICE (arXiv 2510.24684): one model writes questions from documents, and answers them without the documents."""
