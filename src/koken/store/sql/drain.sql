-- $1 worker
update koken.worker set draining_at = koken.now() where id = $1::int and draining_at is null
