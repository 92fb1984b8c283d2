"""Modules that the tier for conversations loads before it forks: the proxies, and their imports.

The server imports modules of verikit itself before it loses access to them.
"""

import asyncio

import verikit.sandbox.proxies.frames
import verikit.sandbox.proxies.names
import verikit.sandbox.proxies.program
import verikit.sandbox.proxies.tests

_loaded = (asyncio, verikit)
