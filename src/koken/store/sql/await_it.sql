-- $1 run  $2 lease  $3 key  $4 ordinal  $5 kind  $6 name  $7 seconds  $8 until  $9 schema  $10 for whom
-- $11 why it waits again  $12 key of the wait before, then
select value::text as value, late, remaining
  from koken.await_it($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12)
