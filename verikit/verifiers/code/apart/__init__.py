"""Python tests and the program that they test, each in its own sandbox.

`far_program` runs tests next to a program and relays the messages between them (`verikit.sandbox.proxies`).
`equality` decides whether two objects are equal if only the program itself could answer that.
"""
