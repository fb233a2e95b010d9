"""Tests of explanations in free text."""
