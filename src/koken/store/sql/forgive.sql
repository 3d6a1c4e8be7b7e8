-- $1 run
select koken.forgive($1::bigint) as forgiven
