-- Keeps values of bodies, each only under its lease; "for share" is the fence against a rescue in
-- flight. A value that stands already counts, unless it may be written over.
-- $1 run ids  $2 leases  $3 keys  $4 values  $5 may they be written over  $6 ordinals  $7 is there
-- something that undoes them  $8 whose records they are
with d as materialized (
  select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::boolean[], $6::int[],
                       $7::boolean[], $8::bigint[])
    as t (holder_id, lease, key, value, over, ordinal, undo, run_id)),
ok as materialized (
  select d.* from d join koken.run r on r.id = d.holder_id and r.lease = d.lease
     and case when r.state = 'running' then true end
   order by r.id
     for share of r),
written_over as (
  update koken.checkpoint c
     set value = ok.value::jsonb, lease = ok.lease, at = koken.now()
    from ok where c.run_id = ok.run_id and c.key = ok.key and ok.over
  returning c.run_id, c.key, c.value::text as value),
kept as (
  insert into koken.checkpoint (run_id, key, value, lease, ordinal, undo)
  select run_id, key, value::jsonb, lease, ordinal, undo from ok
   where not over or not exists (
     select from koken.checkpoint c where c.run_id = ok.run_id and c.key = ok.key)
  on conflict (run_id, key) do update set value = checkpoint.value
  returning run_id, key, value::text as value)
select run_id, key, value from written_over union all select run_id, key, value from kept
