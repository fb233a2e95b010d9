"""Checks that a method or metric has the properties that the rest of verax relies on."""
