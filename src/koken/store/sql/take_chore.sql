-- Whoever moves next_at forward does the chore this time; the second half survives a clock set back.
-- $1 name  $2 worker
update koken.chore
   set next_at = koken.now() + period, worker_id = $2::int
 where name = $1 and (next_at <= koken.now() or next_at > koken.now() + 2 * period)
returning cursor
