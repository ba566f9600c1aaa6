"""Spans and log lines for an OpenTelemetry collector."""
