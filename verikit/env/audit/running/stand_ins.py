"""Programs of the box that stand in for installers: they install nothing and run the installed program.

Harbor's usual test script installs curl and uv, and runs `uvx --with pytest==8.4.1 pytest …`. The installed packages
of this machine are used instead, in any version. `programs.py` decides whether they are enough.
"""

from __future__ import annotations

INSTALLERS = frozenset(("apt-get", "apt", "curl", "uv", "uvx"))
WITH = ("-w", "--with", "--from")
_VALUES = (*WITH, "-p", "--python", "--index-url", "--default-index", "--project", "--directory")
UV = "astral.sh/uv"
_SKIP = f"""while [ $# -gt 0 ]; do
  case "$1" in {"|".join(_VALUES)}) shift 2 ;; -*) shift ;; *) break ;; esac
done
case "$1" in *.py) exec python3 "$@" ;; esac
exec "$@"
"""
STAND_INS = {
    "apt-get": "exit 0\n",
    "apt": "exit 0\n",
    "curl": f'case "$*" in *{UV}*) exit 0 ;; esac\nexec /usr/bin/curl "$@"\n',
    "uvx": _SKIP,
    "uv": f'[ "$1" = run ] || exit 0\nshift\n{_SKIP}',
}
"""The shell text of each stand-in."""
