-- $1 run ids  $2 leases  $3 ages (s)  $4 levels  $5 streams  $6 texts
insert into koken.log_line (run_id, lease, at, level, stream, text)
select d.run_id, d.lease, koken.now() - make_interval(secs => d.age), d.level, d.stream, d.text
  from unnest($1::bigint[], $2::int[], $3::float8[], $4::text[], $5::text[], $6::text[])
       with ordinality as d (run_id, lease, age, level, stream, text, n)
  join koken.run r on r.id = d.run_id and r.lease = d.lease and case when r.state = 'running' then true end
 order by d.n
