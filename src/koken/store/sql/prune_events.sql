-- $1 keep (s)
delete from koken.event where id in (
  select id from koken.event where at < koken.now() - make_interval(secs => $1::float8)
   order by id limit 50000)
