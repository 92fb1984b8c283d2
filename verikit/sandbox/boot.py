"""Start a sandbox process without importing verikit's public package: less memory to fork, and programs can't find it.

`boot.py server` is the fork server, `boot.py once` runs a single program (the `bwrap` and `process` backends),
`boot.py application` becomes a browser or an office program, and `boot.py service` starts a program that is a server.
"""

import os
import sys
import types

_here = os.path.dirname(os.path.abspath(__file__))
for _name, _path in (("verikit", os.path.dirname(_here)), ("verikit.sandbox", _here)):
    sys.modules[_name] = types.ModuleType(_name)
    sys.modules[_name].__path__ = [_path]

if sys.argv[1] == "server":
    from verikit.sandbox import server

    server.main()
elif sys.argv[1] == "application":
    from verikit.sandbox import application

    application.main()
elif sys.argv[1] == "service":
    from verikit.sandbox import service

    service.main()
else:
    from verikit.sandbox import once

    once.main()
