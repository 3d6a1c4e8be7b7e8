-- $1 queue  $2 free slots  $3 worker
select run_id, again_in from koken.claim_limited($1::int, $2::int, $3::int)
