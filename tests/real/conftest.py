import shutil

import pytest


@pytest.fixture(scope="session")
def smollm2():
    """The folder of a pretrained model that chats: SmolLM2-135M-Instruct."""
    return _folder("smollm2")


@pytest.fixture(scope="session")
def minilm():
    """The folder of a pretrained encoder: all-MiniLM-L6-v2."""
    return _folder("minilm")


def _folder(name):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.real import models

    try:
        return str(getattr(models, name)())
    except models.MissingModel as error:
        pytest.skip(str(error))


@pytest.fixture
def folder(tmp_path):
    """A folder for runs, gone after the test: their checkpoints are gigabytes."""
    yield tmp_path
    shutil.rmtree(tmp_path)
