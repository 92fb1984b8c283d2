.PHONY: check format lint types test stubs slow

check: lint types test

format:
	ruff check --fix .
	ruff format .

lint:
	ruff check .
	ruff format --check .

types:
	mypy
	pyright

test:
	pytest

stubs:
	python -m tests.stubs

slow:
	pytest -m slow
