"""Commands that try policies: tests, coverage, benchmarks."""
