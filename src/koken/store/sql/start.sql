-- $1 job  $2 args  $3 workspace  $4 run_at  $5 delay (s)  $6 priority  $7 queue  $8 idempotency key
-- $9 overlap  $10 logical time  $11 trigger kind  $12 trigger by
select run_id, verdict, in_line
  from koken.start_run($1, $2::jsonb, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, null, null, true, null, null)
