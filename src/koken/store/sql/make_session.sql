-- Nobody, where they are disabled or their password is another one by now.
-- $1 hash  $2 user  $3 seconds  $4 address  $5 agent  $6 hash of the password that was looked at
with signed_in as (
  update koken.user set signed_in_at = koken.now()
   where id = $2 and disabled_at is null and password is not distinct from $6
  returning id),
over as (
  delete from koken.session where user_id = $2 and expires_at <= koken.now())
insert into koken.session (hash, user_id, created_at, seen_at, expires_at, address, agent)
select $1, id, koken.now(), koken.now(), koken.now() + make_interval(secs => $3::float8), $4, $5
  from signed_in
returning user_id
