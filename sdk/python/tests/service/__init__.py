"""Tests of the Python SDK against the real binary, which has to be in the path."""
