-- $1 queue ids
select koken.hint(q) from unnest($1::int[]) q
