-- $1 token  $2 by
update koken.token set revoked_at = koken.now(), revoked_by = $2 where id = $1
