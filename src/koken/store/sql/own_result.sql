-- $1 run
select result::text as result from koken.run where id = $1::bigint
