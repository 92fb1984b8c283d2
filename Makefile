.PHONY: check format lint types test slow

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

slow:
	pytest -m slow
