-- Keeps what the processes of attempts took. An attempt may have ended meanwhile, and its run have begun
-- another one: a lease that was given out tells whose it is. What is written again adds nothing.
-- $1 run ids  $2 leases  $3 memory at its worst (bytes)  $4 time of the processor (s)
insert into koken.usage as u (run_id, lease, peak_bytes, cpu_seconds)
select d.run_id, d.lease, d.peak_bytes, d.cpu_seconds
  from unnest($1::bigint[], $2::int[], $3::bigint[], $4::float8[])
       as d (run_id, lease, peak_bytes, cpu_seconds)
  join koken.run r on r.id = d.run_id and r.lease >= d.lease
 order by d.run_id, d.lease
on conflict (run_id, lease) do update
   set peak_bytes = greatest(u.peak_bytes, excluded.peak_bytes),
       cpu_seconds = greatest(u.cpu_seconds, excluded.cpu_seconds)
