"""The verifiers that ship with verikit: one module for each."""
