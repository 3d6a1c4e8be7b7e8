-- $1 run  $2 lease  $3 its workflow's run  $4 the parameter that gets the item  $5 the step with the list, or
-- null  $6 the argument with the list  $7 how many at once  $8 how many failures end it early
select state, queue_ids, lock_ids
  from koken.spread_run($1::bigint, $2::int, $3::bigint, $4, $5::int, $6, $7::int, $8::int)
