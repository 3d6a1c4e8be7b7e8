-- Schedules whose next time was computed with other time zone rules than ours.
-- $1 tzdata
select id, declared, cursor_at from koken.schedule
 where tzdata <> $1 and retired_at is null
 order by id limit 500
   for update skip locked
