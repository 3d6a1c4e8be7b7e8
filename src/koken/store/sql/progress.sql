-- Shows how far runs are. One that a transaction of its own body holds is left out until next time.
-- $1 run ids  $2 leases  $3 percents  $4 messages
with free as materialized (
  select r.id, d.percent, d.message
    from unnest($1::bigint[], $2::int[], $3::int[], $4::text[]) as d (run_id, lease, percent, message)
    join koken.run r on r.id = d.run_id and r.lease = d.lease
     and case when r.state = 'running' then true end
   order by r.id
     for no key update of r skip locked)
update koken.run r set progress = free.percent, progress_text = free.message
  from free where r.id = free.id
