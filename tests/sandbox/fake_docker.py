"""A stand-in for `docker` where there is none: takes the same command line, and runs the program on this machine.

It knows the options that verikit gives and refuses every other; the program runs in namespaces of the local sandbox
where those can be had, so that process 1 of a container finds there much the same. State is kept in FAKE_DOCKER.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

STATE = Path(os.environ["FAKE_DOCKER"])
WITH_VALUE = {
    "--name", "--pull", "--log-driver", "--network", "--cap-drop", "--security-opt", "--user", "--pids-limit",
    "--memory", "--memory-swap", "--ipc", "--tmpfs", "--workdir", "--env", "--entrypoint", "--publish",
}  # fmt: skip
ALONE = {"--rm", "--interactive", "--read-only", "--detach"}
IMAGES = {"python:3.12", "python:3.9", "fusion"}


def parsed(arguments: list[str]) -> tuple[dict[str, list[str]], str, list[str]]:
    options: dict[str, list[str]] = {}
    while arguments and arguments[0].startswith("--"):
        name = arguments.pop(0)
        if name in WITH_VALUE:
            options.setdefault(name, []).append(arguments.pop(0))
        elif name in ALONE:
            options[name] = []
        else:
            sys.exit(f"unknown flag: {name}\nSee 'docker run --help'.")
    return options, arguments[0], arguments[1:]


def run(arguments: list[str]) -> None:
    options, image, command = parsed(arguments)
    name = options["--name"][0]
    with open(STATE / "log.jsonl", "a") as log:
        print(json.dumps({"options": options, "image": image}), file=log)
    if image not in IMAGES:
        print(f"docker: Error response from daemon: No such image: {image}", file=sys.stderr)
        sys.exit(125)
    if "--detach" in options:
        detached(name)
        return
    (STATE / name).write_text(str(os.getpid()))
    environment = {"PATH": "/usr/bin:/bin", **dict(pair.split("=", 1) for pair in options["--env"])}
    if image == "python:3.9":
        print("verikit needs Python 3.11 or newer to run programs here, not 3.9.1", file=sys.stderr)
        sys.exit(1)
    python = os.path.realpath(sys.executable)  # an environment's own is a link, perhaps out of what is shown
    isolated(options)
    os.execve(python, [python, *command], environment)


def isolated(options: dict[str, list[str]]) -> None:
    """Private root, no network, a small memory file system, another user: as far as this machine lets us."""
    from verikit.sandbox import linux, namespaces, paths
    from verikit.sandbox.bwrap import _interpreter
    from verikit.sandbox.client import command

    sizes = dict(part.split("=") for part in options["--tmpfs"][0].split(":")[1].split(",") if "=" in part)
    uid = os.geteuid()
    if uid == 0:
        shown = [*paths.readable(), *_interpreter(command("server")), "/etc/passwd", "/proc"]
        kept = namespaces.enter(shown, paths.DEVICES)
        namespaces.fresh_work(int(sizes["size"]), int(sizes["nr_inodes"]), namespaces.NOBODY, kept)
        os.chdir(namespaces.inner_work(kept))
        os.setgroups([])
        os.setresgid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)
        os.setresuid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)


def detached(name: str) -> None:
    with open(STATE / f"{name}.err", "wb") as errors:
        server = subprocess.Popen(
            [sys.executable, "-m", "verikit", "serve", "--sandbox", "--port", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
        )  # fmt: skip
    (STATE / name).write_text(str(server.pid))
    print(name)


def port(name: str) -> None:
    import time

    for _ in range(600):
        if " on http://" in (told := (STATE / f"{name}.err").read_text()):
            print(told.rpartition("http://")[2].strip())
            return
        time.sleep(0.05)
    sys.exit("no port")


def remove(name: str) -> None:
    os.kill(int((STATE / name).read_text()), signal.SIGKILL)
    (STATE / name).unlink()


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "run":
        run(rest)
    elif verb == "port":
        port(rest[0])
    elif verb == "rm" and rest[0] == "--force":
        remove(rest[1])
    else:
        sys.exit(f"docker: '{verb}' is not a docker command.")
