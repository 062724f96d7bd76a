"""Tests of the Python SDK. Those in service need the binary quittance in the path."""
