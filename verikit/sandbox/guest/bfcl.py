"""Plays the calls of a BFCL multi-turn row on the leaderboard's own simulated services, next to the expected calls.

Calls come as names with values: nothing of them is run as source.
"""

import copy
import importlib
import inspect
import json
from typing import Any

FOLDER = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
STATELESS = ("MathAPI",)
BARRED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
"""Names that the leaderboard doesn't allow in calls."""


class Row(Exception):
    """The row is invalid."""


class Services:
    """The services of one side, and their named public methods."""

    def __init__(self, config: dict[str, Any], classes: list[str], long_context: bool) -> None:
        self.instances: dict[str, Any] = {}
        self._methods: dict[str, Any] = {}
        for name in classes:
            if name not in MODULES:
                raise Row(f"BFCL has no service {name!r}")
            instance = getattr(importlib.import_module(f"{FOLDER}.{MODULES[name]}"), name)()
            if name not in STATELESS:
                instance._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long_context)
            self.instances[name] = instance
            found = inspect.getmembers(instance, predicate=inspect.ismethod)
            self._methods |= {method: bound for method, bound in found if not method.startswith("_")}

    def call(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
        """The text of a call's result, or of its error."""
        try:
            if name in BARRED:
                raise ValueError(f"Function call {name} is not allowed.")
            if name not in self._methods:
                raise NameError(f"name {name!r} is not defined")
            result = self._methods[name](*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the error of a service is the result of the call
            return f"Error during execution: {error}"
        if isinstance(result, dict):
            try:
                return json.dumps(result)
            except (TypeError, ValueError):
                pass
        return str(result)

    def state(self) -> dict[str, dict[str, Any]]:
        """The public attributes of each service."""
        return {
            name: {key: value for key, value in vars(instance).items() if not key.startswith("_")}
            for name, instance in self.instances.items()
        }


def results(text: str) -> list[Any]:
    """`["results", outputs]` of the calls starting with number `since`, all played in order; or `["row", why]`."""
    row = json.loads(text)
    services = _set_up(row)
    if isinstance(services, str):
        return ["row", services]
    return ["results", [services.call(*call) for call in row["calls"]][row["since"] :]]


def _set_up(row: dict[str, Any]) -> Services | str:
    """The services of a row, or why they can't be set up."""
    try:
        return Services(row["config"], row["classes"], row["long"])
    except Row as problem:
        return str(problem)
    except Exception as problem:  # noqa: BLE001 - a configuration may raise anything
        return f"the services can't be set up: {type(problem).__name__}: {problem}"


def play(text: str) -> list[str]:
    """`["right", ""]`, `["wrong", why]` or `["row", why]` for a row's configuration, expected and actual calls."""
    row = json.loads(text)
    made, wanted = _set_up(row), _set_up(row)
    if isinstance(made, str) or isinstance(wanted, str):
        return ["row", made if isinstance(made, str) else str(wanted)]
    told: list[str] = []
    for turn, (expected, steps) in enumerate(zip(row["expected"], row["made"], strict=True)):
        told += [made.call(*call) for call in steps]
        results = [wanted.call(*call) for call in expected]
        difference = different(made, wanted, told, results) if expected else ""
        if difference:
            return ["wrong", f"turn {turn}: {difference}"]
    return ["right", ""]


def different(made: Services, wanted: Services, told: list[str], results: list[str]) -> str:
    """How the states or the results differ; "" if they do not."""
    ours, theirs = made.state(), wanted.state()
    for service, attributes in theirs.items():
        for key, value in attributes.items():
            if key not in ours[service] or ours[service][key] != value:
                return f"{service}.{key} is not as after the expected calls"
    left = list(told)
    for result in results:
        if result not in left:
            return f"no call gave the result {result[:200]!r}"
        left.remove(result)
    return ""
