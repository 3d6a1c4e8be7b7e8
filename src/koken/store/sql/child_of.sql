-- $1 run  $2 lease  $3 key  $4 step  $5 attempts used up  $6 job  $7 args  $8 run_at  $9 delay (s)
-- $10 priority  $11 queue  $12 idempotency key  $13 overlap  $14 logical time
select child_id, open_children, in_line, job, state, result::text as result, error::text as error
  from koken.child_of($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11, $12, $13, $14)
