-- $1 keys  $2 seconds that they count
with old as (
  delete from koken.failed_sign_in
   where ctid = any (array(select ctid from koken.failed_sign_in
                            where at < koken.now() - make_interval(secs => $2::float8)
                            order by at limit 100 for update skip locked)))
insert into koken.failed_sign_in (key, at) select key, koken.now() from unnest($1::text[]) as k (key)
