-- Nothing comes back when another request has come between: look again. wait is how many seconds are left until
-- what has no answer is given up. Only what has written nothing is begun anew then.
-- $1 owner  $2 key  $3 request  $4 kept (s)  $5 given up after (s)
with begun as (
  insert into koken.answered as a (owner, key, request) values ($1, $2, $3::bytea)
  on conflict (owner, key) do update
     set request = excluded.request, written = false, status = null, body = null, location = null, needed = null,
         at = koken.now()
   where a.at < koken.now() - make_interval(secs => $4::float8)
      or (a.status is null and not a.written and a.request = excluded.request
          and a.at < koken.now() - make_interval(secs => $5::float8))
  returning at)
select true as begun, at, false as written, null::bytea as request, null::int as status, null::text as body, null::text as location,
       null::text as needed, null::float8 as wait
  from begun
union all
select false, a.at, a.written, a.request, a.status, a.body, a.location, a.needed::text,
       extract(epoch from a.at - koken.now())::float8 + $5::float8
  from koken.answered a
 where a.owner = $1 and a.key = $2 and not exists (select from begun)
