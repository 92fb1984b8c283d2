"""Python tests and the program that they test, each in a sandbox of its own.

`far_program` runs tests beside a program and passes on what they say to each other (`verikit.sandbox.proxies`).
`equality` decides whether an object is equal to another where only the program itself could tell.
"""
