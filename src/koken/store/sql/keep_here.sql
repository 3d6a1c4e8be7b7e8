-- Keeps a step's value inside the transaction of its body's own writes: the last statement of that
-- transaction. No row: the run is not ours any more, and the transaction must not commit. The run's
-- own row is only locked against a takeover, which wants it whole: whatever else happens to the run meanwhile,
-- be it that a child ends or somebody cancels it, must get through.
-- $1 run  $2 lease  $3 key  $4 value  $5 ordinal  $6 is there something that undoes it
with d as materialized (
  select $1::bigint as run_id, $2::int as lease, $3::text as key, $4::text as value, $5::int as ordinal,
         $6::boolean as undo),
ok as materialized (
  select d.* from d join koken.run r on r.id = d.run_id and r.lease = d.lease
     and case when r.state = 'running' then true end
     for key share of r)
insert into koken.checkpoint (run_id, key, value, lease, ordinal, undo)
select run_id, key, cast(value as jsonb), lease, ordinal, undo from ok
on conflict (run_id, key) do nothing
returning run_id
