"""`python -m verikit` is the `verikit` command."""

from verikit.cli import main

main()
