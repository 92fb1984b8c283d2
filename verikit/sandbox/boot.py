"""Start a sandbox process without importing verikit's public package: less memory to fork, nothing of it to be found.

`boot.py server` is the fork server, `boot.py once` runs a single program (the `bwrap` and `process` backends).
"""

import os
import sys
import types

here = os.path.dirname(os.path.abspath(__file__))
for name, path in (("verikit", os.path.dirname(here)), ("verikit.sandbox", here)):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]

if sys.argv[1] == "server":
    from verikit.sandbox import server

    server.main()
else:
    from verikit.sandbox import once

    once.main()
