-- Other arguments for a run that has ended.
-- $1 run  $2 arguments
with kept as (
  update koken.run set args = case when octet_length($2::jsonb::text) <= 512 then $2::jsonb end
   where id = $1::bigint),
gone as (delete from koken.run_args where run_id = $1::bigint and octet_length($2::jsonb::text) <= 512)
insert into koken.run_args (run_id, args)
select $1::bigint, $2::jsonb where octet_length($2::jsonb::text) > 512
on conflict (run_id) do update set args = excluded.args
