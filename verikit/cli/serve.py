"""`verikit serve`."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verikit.cli.command import GroupedCommand
from verikit.cli.options import read_options
from verikit.engines import load_engine
from verikit.errors import MissingExtra, UsageError
from verikit.names.spec import load, load_selector
from verikit.platform.numbers import number
from verikit.platform.secrets import strike
from verikit.platform.system import processors
from verikit.until import load_rule

if TYPE_CHECKING:
    from verikit.serve.best import BestSettings
    from verikit.serve.quotas import Tenant

TOKEN = "VERIKIT_TOKEN"


@click.command(
    cls=GroupedCommand,
    usual="--host --port --protocol --workers --token-file --best-of",
    purposes={
        "Best of N": "--model --model-args --select --until --ahead --temperature --max-tokens",
        "Programs (--sandbox)": "--sandbox --tokens --quota",
        "Load": "--max-batch --max-waiting --max-connections --max-body-mb --deadline --drain",
        "Replies and logs": "--unscored --verbose",
    },
)
@click.argument("spec", required=False)
@click.option(
    "--sandbox", is_flag=True, help="Run programs instead: POST /run_code and /submit, as SandboxFusion does."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on. 0: any free port.",
)
@click.option(
    "--protocol",
    type=click.Choice(["openrlhf", "slime", "llama-factory", "nemo-gym", "nemo-gym-mask"]),
    help="Also answer clients of this protocol: at /get_reward, /reward, /scores, /verify. nemo-gym: an unscored "
    "sample is an HTTP error. nemo-gym-mask: it is a masked row, which requires --unscored.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of scoring processes (default: 1), or of programs at a time (default: one per CPU).",
)
@click.option("--max-batch", type=click.IntRange(1), default=256, show_default=True, help="Maximum samples per batch.")
@click.option(
    "--max-waiting",
    type=click.IntRange(1),
    default=4096,
    show_default=True,
    help="Maximum samples in the queue. Requests beyond it get 429.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    help="Maximum open connections. Connections beyond it get 503.",
)
@click.option(
    "--max-body-mb",
    type=click.FloatRange(0, min_open=True),
    default=8.0,
    show_default=True,
    help="Largest request body, in MiB.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Timeout per request, in seconds.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds to finish open requests after SIGTERM.",
)
@click.option(
    "--unscored",
    type=float,
    metavar="NUMBER",
    help="Reward for unscored samples, in the replies of --protocol. Default: null.",
)
@click.option("--token-file", metavar="FILE", help=f"File with the token that clients must send. Or set it in {TOKEN}.")
@click.option(
    "--tokens",
    metavar="FILE",
    help='With --sandbox: file with several tokens: {"NAME": {"token": "…", "at_once": 4}, …}.',
)
@click.option(
    "--quota",
    default="",
    metavar="QUOTA",
    help="With --sandbox: limits per token, such as at_once=4,per_minute=600,cpu_s=60.",
)
@click.option("--best-of", type=click.IntRange(1), metavar="N", help="Serve the best of N samples as chat completions.")
@click.option("--model", metavar="SPEC", help="Engine that samples for --best-of: openai:URL#NAME, hf:PATH, ….")
@click.option("--model-args", multiple=True, metavar="KEY=VALUE", help="Options of the engine.")
@click.option(
    "--select", default="best", show_default=True, metavar="SPEC", help="Selector that chooses among the samples."
)
@click.option("--until", metavar="SPEC", help="Stop a request's sampling early: majority(0.95), …")
@click.option(
    "--ahead", type=click.IntRange(1), default=1, show_default=True, help="Samples generated in parallel, with --until."
)
@click.option("--temperature", type=click.FloatRange(0), help="Sampling temperature if the request sets none.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    help="Maximum tokens per sample, regardless of the request.",
)
@click.option("-v", "--verbose", is_flag=True, help="Log a line for each request: path, status and time, never text.")
def serve(
    spec: str | None,
    sandbox: bool,
    host: str,
    port: int,
    protocol: str | None,
    workers: int | None,
    max_batch: int,
    max_waiting: int,
    max_connections: int,
    max_body_mb: float,
    deadline: float,
    drain: float,
    unscored: float | None,
    token_file: str | None,
    tokens: str | None,
    quota: str,
    verbose: bool,
    best_of: int | None,
    model: str | None,
    **sampling: Any,
) -> None:
    """Serve the scores of SPEC over HTTP: POST /score, and GET /health, /ready, /metrics. Or run programs for others.

    With --best-of N and --model, also OpenAI's POST /v1/chat/completions. It samples N completions, scores them with
    SPEC and selects one by --select. The client gets that completion, and the reason in a header.

    \b
    verikit serve answer --workers 2
    verikit serve --sandbox --quota at_once=4,per_minute=600,cpu_s=60
    verikit serve "rm('hf:DIR')" --best-of 8 --model openai:http://localhost:8000/v1#m --port 8001
    VERIKIT_TOKEN=… verikit serve "0.9*answer + 0.1*boxed" --host 0.0.0.0 --protocol openrlhf
    """  # noqa: D301 - click reads \b as "don't wrap"
    if sandbox == (spec is not None):
        raise UsageError("serve takes either a SPEC, whose scores it serves, or --sandbox, to run programs")
    if (tokens or quota) and not sandbox:
        raise UsageError("--tokens and --quota belong to --sandbox")
    if sandbox and (protocol or best_of or model):
        raise UsageError(
            "--protocol and --best-of belong to a SPEC", hint="--sandbox speaks SandboxFusion's /run_code and /submit"
        )
    try:
        from verikit.serve.run import ServerSettings
        from verikit.serve.run import serve as run
    except ImportError as error:
        raise MissingExtra(f"the server (no {error.name})", "serve") from None
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    if verbose:
        logging.getLogger("verikit.serve").setLevel(logging.DEBUG)
    if spec is None:
        from verikit.serve.programs import ProgramSettings, serve_programs

        programs = ProgramSettings(
            _tenants(tokens, token_file, quota),
            workers or processors(),
            host=host,
            port=port,
            max_waiting=max_waiting,
            max_connections=max_connections,
            max_body_mb=max_body_mb,
            deadline_s=deadline,
            drain_s=drain,
        )
        serve_programs(programs, lambda address: click.echo(f"running programs on {address}", err=True))
        return
    if best_of is None and model is not None:
        raise UsageError("--model is what --best-of samples from", hint="--best-of N")
    settings = ServerSettings(
        spec,
        host=host,
        port=port,
        protocol=protocol,
        workers=workers or 1,
        max_batch=max_batch,
        max_waiting=max_waiting,
        max_connections=max_connections,
        max_body_mb=max_body_mb,
        deadline_s=deadline,
        drain_s=drain,
        unscored=unscored,
        token=_token(token_file),
        best=_best(spec, best_of, model, deadline, sampling) if best_of else None,
    )
    run(settings, lambda address: click.echo(f"serving {strike(spec)} on {address}", err=True))


def _tenants(tokens: str | None, token_file: str | None, quota: str) -> list[Tenant]:
    """Return the clients that may run programs, with their quotas.

    Raises:
        UsageError: Tokens are named twice, or a file or quota can't be read.
    """
    from verikit.serve.quotas import Tenant, read_clients, read_quota

    usual = read_quota(quota)
    if not tokens:
        token = _token(token_file)
        return [Tenant("all", usual, token.encode() if token else None)]
    if token_file:
        raise UsageError("--tokens and --token-file both name tokens")
    return read_clients(tokens, usual)


def _best(spec: str, n: int, model: str | None, deadline: float, options: dict[str, Any]) -> BestSettings:
    """Return the settings of the chat endpoint.

    Raises:
        UsageError: There is no model, or a spec can't be loaded.
    """
    from verikit.serve.best import BestSettings, tries_s

    if model is None:
        raise UsageError("--best-of needs a model to sample from", hint="--model openai:http://host:8000/v1#NAME")
    engine_options = read_options(options["model_args"])
    if model.partition(":")[0] in ("openai", "anthropic", "gemini"):
        most = tries_s(deadline)  # no client waits longer, and the result of a later attempt would be lost
        given = engine_options.setdefault("deadline_s", most)
        if number(given) is not None and given > most:
            engine_options["deadline_s"] = most
    return BestSettings(
        load_engine(model, **engine_options),
        load_selector(options["select"], load(spec)),
        n,
        load_rule(options["until"]) if options["until"] else None,
        options["temperature"],
        options["max_tokens"],
        options["ahead"],
    )


def _token(file: str | None) -> str | None:
    """Return the token of the file or the environment. None if neither is set.

    Raises:
        UsageError: The file can't be read, or the token is empty.
    """
    if file is None:
        token = os.environ.get(TOKEN)
    else:
        try:
            token = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"can't read the token from {file}: {error}") from None
    if token is not None and not token.strip():
        raise UsageError(f"the token in {file or TOKEN} is empty")
    return None if token is None else token.strip()
