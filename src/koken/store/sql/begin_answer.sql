-- Nothing comes back when another request has come between: look again.
-- $1 owner  $2 key  $3 request  $4 kept (s)  $5 given up after (s)
with begun as (
  insert into koken.answered as a (owner, key, request) values ($1, $2, $3::bytea)
  on conflict (owner, key) do update
     set request = excluded.request, status = null, body = null, location = null, needed = null, at = koken.now()
   where a.at < koken.now() - make_interval(secs => $4::float8)
      or (a.status is null and a.request = excluded.request
          and a.at < koken.now() - make_interval(secs => $5::float8))
  returning 1)
select true as begun, null::bytea as request, null::int as status, null::text as body, null::text as location,
       null::text as needed
  from begun
union all
select false, a.request, a.status, a.body, a.location, a.needed::text from koken.answered a
 where a.owner = $1 and a.key = $2 and not exists (select from begun)
