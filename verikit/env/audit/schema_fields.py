"""The fields of Harbor's `task.toml`, schema 1.4, as harbor 0.25 reads them. Unknown fields are errors here."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

NetworkMode = Literal["no-network", "public", "allowlist"]
_NAME = r"^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$"


def _finite(value: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError("should be a finite number and not negative")
    return value


def _within(value: str) -> str:
    if ".." in value.split("/"):
        raise ValueError("should not contain '..'")
    return value


def _relative(value: str | None) -> str | None:
    if value is not None and value.startswith("/"):
        raise ValueError("should be a relative path")
    if value is not None and value.rstrip("/") == "manifest.json":
        raise ValueError("should not be 'manifest.json', which is the collector's record")
    return None if value is None else _within(value)


def _step_name(value: str) -> str:
    if not value.strip() or value in (".", "..") or value.endswith((".", " ")) or set(value) & set('<>:"/\\|?*\0'):
        raise ValueError("should be the name of a folder")
    return value


Seconds = Annotated[float, AfterValidator(_finite)]
Inside = Annotated[str, AfterValidator(_within)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Phase(_Fields):
    network_mode: NetworkMode | None = None
    allowed_hosts: list[str] | None = None

    @model_validator(mode="after")
    def _hosts_need_an_allowlist(self) -> _Phase:
        if self.allowed_hosts and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts is only valid with network_mode='allowlist'")
        return self


class _Author(_Fields):
    name: str
    email: str | None = None


class _Package(_Fields):
    name: Annotated[str, Field(pattern=_NAME), AfterValidator(_within)]
    version: Annotated[str, Field(min_length=1)] | None = None
    description: str = ""
    authors: list[_Author] = []
    keywords: list[str] = []


class _Healthcheck(_Fields):
    command: str
    interval_sec: Seconds = 5.0
    timeout_sec: Seconds = 30.0
    start_period_sec: Seconds = 0.0
    start_interval_sec: Seconds = 5.0
    retries: int = 3


class _Tpu(_Fields):
    type: Annotated[str, Field(min_length=1)]
    topology: Annotated[str, Field(pattern=r"^[1-9]\d*(x[1-9]\d*)+$")]


class _McpServer(_Fields):
    name: str
    transport: Literal["stdio", "sse", "streamable-http", "http"] = "sse"
    url: str | None = None
    command: str | None = None
    args: list[str] = []
    headers: dict[str, str] = {}

    @model_validator(mode="after")
    def _transport_has_its_address(self) -> _McpServer:
        wanted = "command" if self.transport == "stdio" else "url"
        if not getattr(self, wanted):
            raise ValueError(f"the transport {self.transport!r} needs {wanted!r}")
        return self


class _Environment(_Phase):
    build_timeout_sec: Seconds = 600.0
    docker_image: str | None = None
    os: str = "linux"
    cpus: Seconds | None = None
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    storage_mb: Annotated[int, Field(gt=0)] | None = None
    gpus: Annotated[int, Field(ge=0)] | None = None
    gpu_types: list[str] | None = None
    tpu: _Tpu | None = None
    mcp_servers: list[_McpServer] = []
    env: dict[str, str] = {}
    skills_dir: str | None = None
    healthcheck: _Healthcheck | None = None
    workdir: str | None = None

    @model_validator(mode="after")
    def _os_is_known(self) -> _Environment:
        if self.os.lower() not in ("linux", "windows"):
            raise ValueError("os should be 'linux' or 'windows'")
        return self


class _Collect(_Fields):
    command: str
    service: str = "main"
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class _Verifier(_Phase):
    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: _Environment | None = None
    collect: list[_Collect] = []

    @model_validator(mode="after")
    def _a_shared_box_has_no_environment(self) -> _Verifier:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError("environment_mode='shared' excludes [verifier.environment]")
        return self


class _Agent(_Phase):
    timeout_sec: Seconds | None = None
    user: str | int | None = None


class _Artifact(_Fields):
    source: Inside
    destination: Annotated[str, AfterValidator(_relative)] | None = None
    exclude: list[str] = []
    service: str | None = None

    @model_validator(mode="after")
    def _services_have_absolute_sources(self) -> _Artifact:
        if self.service not in (None, "main") and not self.source.startswith("/"):
            raise ValueError("a source in another service should be an absolute path")
        return self


class _Solution(_Fields):
    env: dict[str, str] = {}


class _Step(_Fields):
    name: Annotated[str, AfterValidator(_step_name)]
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    min_reward: float | dict[str, float] | None = None
    healthcheck: _Healthcheck | None = None
    artifacts: list[Inside | _Artifact] = []


class HarborTaskFields(_Fields):
    """A whole `task.toml`."""

    schema_version: str = "1.4"
    task: _Package | None = None
    metadata: dict[str, Any] = {}
    verifier: _Verifier = _Verifier()
    agent: _Agent = _Agent()
    environment: _Environment = _Environment()
    solution: _Solution = _Solution()
    source: str | None = None
    multi_step_reward_strategy: Literal["mean", "final"] | None = None
    steps: list[_Step] | None = None
    artifacts: list[Inside | _Artifact] = []

    @model_validator(mode="after")
    def _step_names_differ(self) -> HarborTaskFields:
        names = [step.name.casefold() for step in self.steps or []]
        if len(set(names)) < len(names):
            raise ValueError("names of steps should differ, in more than case")
        return self
