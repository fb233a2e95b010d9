"""Components by name, listed and displayed without importing them."""

from verax.registry.display import display_names
from verax.registry.lookup import (
    NAMESPACES,
    Namespace,
    ShortForms,
    built_in,
    described,
    entries,
    find_entry,
    registered,
    registered_name,
    rescan,
    resolve,
    unknown,
)

__all__ = [
    "NAMESPACES",
    "Namespace",
    "ShortForms",
    "built_in",
    "described",
    "display_names",
    "entries",
    "find_entry",
    "registered",
    "registered_name",
    "rescan",
    "resolve",
    "unknown",
]
