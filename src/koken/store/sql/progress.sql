-- $1 run ids  $2 leases  $3 percents  $4 messages
update koken.run r
   set progress = d.percent, progress_text = d.message
  from unnest($1::bigint[], $2::int[], $3::int[], $4::text[]) as d (run_id, lease, percent, message)
 where r.id = d.run_id and r.lease = d.lease and case when r.state = 'running' then true end
