-- What a run returned, and its own arguments.
-- $1 run
select r.result::text as result,
       coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id), '{}')::text as args
  from koken.run r where r.id = $1::bigint
