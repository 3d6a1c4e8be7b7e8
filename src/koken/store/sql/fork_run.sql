-- $1 run  $2 by  $3 numbers of the steps that stay as they ended  $4 of those that have a window
-- $5 when that closes
select koken.fork_run($1::bigint, $2, $3::int[], $4::int[], $5::timestamptz[]) as id
