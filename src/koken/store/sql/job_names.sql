-- $1 ids
select id, name from koken.job where id = any($1::int[])
