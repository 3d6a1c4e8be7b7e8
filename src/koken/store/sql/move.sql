-- $1 the move  $2 job, '' for none  $3 args  $4 workspace  $5 run_at  $6 delay (s)  $7 priority  $8 queue
-- $9 idempotency key  $10 overlap  $11 logical time  $12 trigger kind  $13 trigger by
select run_id, in_line, refusal, held_by, since
  from koken.carry_move($1::jsonb, nullif($2, ''), $3::jsonb, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
