"""Protocols of evaluation: each study has its preset, its analysis, its tables and its figures."""
