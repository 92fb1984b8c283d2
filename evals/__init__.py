"""Benchmark suites on lm-eval."""
