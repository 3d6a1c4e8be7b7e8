-- What these runs have begun is undone, or cancelled elsewhere, when they do not end well. A run that
-- a transaction of its own body holds is left out; its end marks it.
-- $1 run ids  $2 leases
with free as materialized (
  select r.id from unnest($1::bigint[], $2::int[]) as d (run_id, lease)
    join koken.run r on r.id = d.run_id and r.lease = d.lease
     and case when r.state = 'running' then true end and r.unwind is null
   order by r.id
     for no key update of r skip locked)
update koken.run r set unwind = true from free where r.id = free.id
