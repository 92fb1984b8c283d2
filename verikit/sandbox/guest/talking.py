"""What the tier for conversations has loaded before it forks: the proxies, and what they import.

The server imports modules of verikit itself before it loses sight of them.
"""

import asyncio

import verikit.sandbox.proxies.frames
import verikit.sandbox.proxies.names
import verikit.sandbox.proxies.program
import verikit.sandbox.proxies.tests

_loaded = (asyncio, verikit)
