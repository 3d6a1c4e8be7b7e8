-- $1 queue  $2 free slots  $3 worker  $4 jobs that the worker's program does not have
select run_id, again_in from koken.claim_limited($1::int, $2::int, $3::int, $4::int[])
