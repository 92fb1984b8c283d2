"""Whether there can be a model of a name, asked before transformers retries downloads."""

import pytest

from verikit.platform import network
from verikit.platform.network import why_no_model


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    def refuse(*address, **options):
        raise OSError("no route")

    for name in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(network.socket, "create_connection", refuse)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["org/model", "gpt2"])
def test_without_a_network_a_model_that_is_nowhere_is_an_error_at_once(no_network, name):
    assert "no connection to huggingface.co: no route" in why_no_model(name)


@pytest.mark.parametrize("name", ["./modle", "/nowhere/model", "a/b/c", "runs/model out", "~/model", "../m", "", "é"])
def test_a_path_that_is_no_name_of_the_hub_needs_no_network(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(network, "unreachable", None)
    assert why_no_model(name) == "the folder does not exist"


def test_a_folder_and_a_downloaded_model_need_no_network(no_network):
    (no_network / "model").mkdir()
    (no_network / "home/hub/models--org--name").mkdir(parents=True)
    assert (why_no_model("model"), why_no_model("org/name")) == ("", "")
    assert why_no_model("org/other")


def test_a_model_in_the_folder_that_the_cache_variable_names_is_found(no_network, monkeypatch):
    (no_network / "cache/models--org--name").mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(no_network / "cache"))
    assert why_no_model("org/name") == ""


def test_a_model_may_be_on_a_hub_that_can_be_reached(no_network, monkeypatch):
    monkeypatch.setattr(network, "unreachable", lambda url, seconds: "")
    assert why_no_model("org/name") == ""
