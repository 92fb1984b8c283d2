"""`python -m verikit` is the `verikit` command."""

from verikit.cli import main

if __name__ == "__main__":
    main()
