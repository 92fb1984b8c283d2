.PHONY: check format lint types test quick times stubs slow nightly

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

# One case of each test.
quick:
	VERIKIT_QUICK=1 pytest -n 2

# Which cases take a second or more, and therefore count as slow.
times:
	VERIKIT_TIMES=1 pytest -n 2

stubs:
	python -m tests.stubs

slow:
	pytest -m slow --maxschedchunk 1

# What CI leaves out: every small world from every seed on every arithmetic of this processor (hours; it resumes).
nightly: slow
	pytest --hypothesis-profile thorough
	python -m benchmarks.learning measure runs/learning
	python -m benchmarks.learning table runs/learning
