"""Addresses in tables, `module:name`: what they lead to is imported on use, so that a listing loads no torch."""

from importlib import import_module
from typing import Any


def find(address: str) -> Any:
    """What is at an address, its module imported now."""
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)
