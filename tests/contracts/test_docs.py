"""docs/rewards.md, docs/serve.md and docs/faq.md: their code runs, and what they name is there."""

import json
import re

import pytest

from tests.conftest import ROOT
from verikit.cli import COMMANDS


def page(name):
    return (ROOT / "docs" / name).read_text("utf-8")


def block(name, section, language):
    after = page(name).partition(f"\n## {section}\n")[2]
    return re.search(rf"```{language}\n(.*?)```", after, re.DOTALL)[1]


@pytest.mark.filterwarnings("ignore")
def test_the_trl_script_trains(tmp_path, monkeypatch):
    pytest.importorskip("trl")
    pytest.importorskip("datasets")
    from tests.engines import tiny

    monkeypatch.chdir(tmp_path)
    code = block("rewards.md", "TRL", "python")
    assert "Qwen/Qwen2.5-0.5B-Instruct" in code
    code = code.replace("Qwen/Qwen2.5-0.5B-Instruct", tiny.save(tmp_path / "model")).replace(
        "report_to", "use_cpu=True, bf16=False, report_to"
    )
    scope = {}
    exec(compile(code, "rewards.md", "exec"), scope)
    assert "good/boxed" in scope["trainer"].state.log_history[0]


@pytest.mark.filterwarnings("ignore")
def test_the_inspect_script_makes_a_task():
    pytest.importorskip("inspect_ai")
    scope = {}
    exec(compile(block("rewards.md", "Inspect", "python"), "rewards.md", "exec"), scope)
    assert scope["task"].scorer


def test_the_verifiers_table_is_toml_that_names_the_shim():
    import tomllib

    from verikit.adapters.stacks import shim

    table = tomllib.loads(block("rewards.md", "verifiers and prime-rl", "toml"))
    assert table["env"]["taskset"]["task"]["rewards"]["verikit"]["fn"] == "reward.py:reward"
    assert "\nreward = " in shim("verifiers", "answer")


def test_the_servers_example_answers_as_shown(tmp_path):
    pytest.importorskip("uvicorn")
    from tests.serve import conftest

    shell = page("serve.md")
    spec = re.search(r'verikit serve "([^"]+)"', shell)[1]
    body = json.loads(re.search(r"/score -d '(.*?)'", shell)[1])
    shown = re.search(r'"scores":\[\{"value":([\d.]+)', shell)[1]
    with conftest.serve.__wrapped__(tmp_path)(spec=spec) as server:
        rows = server.http.post("/score", json=body).json()["scores"]
    assert [row["value"] for row in rows] == [float(shown), 0.0]
    assert set(rows[0]["parts"]) == {"answer", "boxed"}


def test_every_path_and_option_of_the_servers_page_is_there():
    from verikit.cli.serve import serve
    from verikit.serve.protocols import NATIVE, PROTOCOLS

    text = page("serve.md")
    served = {protocol.path for protocol in (NATIVE, *PROTOCOLS.values())} | {"/health", "/ready", "/metrics"}
    served |= set(re.findall(r'Route\("(/\w+)"', (ROOT / "verikit/serve/programs.py").read_text("utf-8")))
    served |= set(re.findall(r'"(/\w+)"', (ROOT / "verikit/serve/gym_paths.py").read_text("utf-8")))
    assert set(re.findall(r"`(?:POST|GET) (/\w+)`", text)) <= served
    options = {option for parameter in serve.params for option in parameter.opts}
    named = set(
        re.findall(r"`(--[a-z-]+)", text.replace("--rm-type", "").replace("--rm-url", "").replace("--reward-key", ""))
    )
    assert named <= options


def test_the_faq_answers_all_twenty_five_and_links_pages_that_are_there():
    text = page("faq.md")
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)] == list(range(1, 26))
    for name in ("faq.md", "rewards.md", "serve.md", "scale.md"):
        for link in re.findall(r"\]\(([\w.]+\.md)\)", page(name)):
            assert (ROOT / "docs" / link).exists(), f"{name} links {link}"
    for command in re.findall(r"`verikit (\w+)", text):
        assert command in COMMANDS
