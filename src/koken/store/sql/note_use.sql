-- $1 token
update koken.token set last_used_at = koken.now()
 where id = $1 and (last_used_at is null or last_used_at < koken.now() - interval '1 minute')
