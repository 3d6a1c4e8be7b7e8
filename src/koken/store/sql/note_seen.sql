-- $1 hash
update koken.session set seen_at = koken.now()
 where hash = $1 and seen_at < koken.now() - interval '1 minute'
