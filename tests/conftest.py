"""Fixtures that every test may ask for."""

from __future__ import annotations

from tests.support.postgres import (
    database_url,
    empty_database_url,
    postgres_url,
    template_database,
)

__all__ = ["database_url", "empty_database_url", "postgres_url", "template_database"]
