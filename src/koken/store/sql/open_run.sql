-- $1 run  $2 lease  $3 gated steps  $4 why a gate skips it  $5 not before  $6 when its window closes
-- $7 whether that skips it  $8 whether the first failure stops the others  $9 queues in which its worker takes
-- what becomes ready  $10 how many
select state, queue_ids, lock_ids, taken::text as taken
  from koken.open_run($1::bigint, $2::int, $3::int[], $4::text[], $5::timestamptz[], $6::timestamptz[],
                      $7::boolean[], $8::boolean, $9::int[], $10::int)
