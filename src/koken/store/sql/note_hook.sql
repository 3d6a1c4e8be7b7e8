-- Writes down that a hook was used, at most once a minute.
-- $1 hook
update koken.hook set last_used_at = koken.now()
 where id = $1::int and (last_used_at is null or last_used_at < koken.now() - interval '1 min')
