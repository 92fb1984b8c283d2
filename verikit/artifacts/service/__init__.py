"""A server that an agent left, started in its own box and called over the loopback of the box's network.

`box.ServiceBox` starts and stops the program, `call.call` sends a request and reads the reply. Verdicts are reached by
the caller.
"""
