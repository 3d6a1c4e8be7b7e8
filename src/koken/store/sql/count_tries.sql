-- The keys under which too much has failed, and when that is over; $1 keys  $2 limits  $3 seconds
select extract(epoch from min(f.at) - koken.now() + make_interval(secs => $3::float8))::float8 as after
  from unnest($1::text[], $2::int[]) as k (key, most)
  join koken.failed_sign_in f on f.key = k.key and f.at > koken.now() - make_interval(secs => $3::float8)
 group by k.key, k.most
having count(*) >= k.most
 order by 1 desc
