-- Keeps values of bodies, each only under its lease; "for share" is the fence against a rescue in
-- flight. A step's value that stands already counts;
-- a saved value is written over.
-- $1 run ids  $2 leases  $3 keys  $4 values
with d as materialized (
  select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[])
    as t (run_id, lease, key, value)),
ok as materialized (
  select d.* from d join koken.run r on r.id = d.run_id and r.lease = d.lease
     and case when r.state = 'running' then true end
   order by r.id
     for share of r),
kept as (
  insert into koken.checkpoint (run_id, key, value, lease)
  select run_id, key, value::jsonb, lease from ok
  on conflict (run_id, key) do update
     set value = case when excluded.key like 'saved:%' then excluded.value else checkpoint.value end,
         lease = case when excluded.key like 'saved:%' then excluded.lease else checkpoint.lease end
  returning run_id, key, value::text as value)
select run_id, key, value from kept
