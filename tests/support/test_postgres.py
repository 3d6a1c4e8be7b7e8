from __future__ import annotations

import psycopg
import pytest

from tests.support.postgres import TIMEZONE, fresh_database


def test_a_copy_has_what_its_template_has_and_changes_alone(postgres_url: str) -> None:
    with fresh_database(postgres_url, "koken_source") as source:
        with psycopg.connect(source) as connection:
            connection.execute("create table kept ()")
        template = source.rsplit("/", 1)[1]
        with fresh_database(postgres_url, "koken_copy", template) as copy:
            with psycopg.connect(copy) as connection:
                connection.execute("insert into kept default values")
            with psycopg.connect(source) as connection:
                assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_a_database_goes_although_somebody_is_connected(postgres_url: str) -> None:
    with fresh_database(postgres_url, "koken_gone") as url:
        left_open = psycopg.connect(url)
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("select 1")
    left_open.close()


def test_sessions_stand_far_from_utc(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("show timezone").fetchone() == (TIMEZONE,)


def test_the_template_is_migrated(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        found = connection.execute("select to_regnamespace('koken') is not null").fetchone()
    assert found == (True,)
