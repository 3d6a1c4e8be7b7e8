-- $1 job  $2 args  $3 workspace  $4 run_at  $5 delay (s)  $6 priority  $7 queue  $8 overlap
-- $9 trigger kind  $10 trigger by
select koken.start_many($1, $2::jsonb[], $3, $4, $5, $6, $7, $8, $9, $10) as id
