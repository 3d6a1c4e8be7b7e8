-- $1 hash  $2 user  $3 seconds  $4 address  $5 agent
with signed_in as (
  update koken.user set signed_in_at = koken.now() where id = $2),
over as (
  delete from koken.session where user_id = $2 and expires_at <= koken.now())
insert into koken.session (hash, user_id, created_at, seen_at, expires_at, address, agent)
values ($1, $2, koken.now(), koken.now(), koken.now() + make_interval(secs => $3::float8), $4, $5)
