-- $1 schedules
select id, expression from koken.schedule where id = any($1::int[])
