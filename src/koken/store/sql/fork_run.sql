-- $1 run  $2 by  $3 numbers of the steps that stay as they ended
select koken.fork_run($1::bigint, $2, $3::int[]) as id
