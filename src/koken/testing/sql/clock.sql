-- A clock that only a test moves: what makes a migrated database a test's own.
create table koken.testing_clock (at timestamptz not null);
insert into koken.testing_clock values (clock_timestamp());

create or replace function koken.now() returns timestamptz language sql stable parallel safe
as 'select at from koken.testing_clock';
