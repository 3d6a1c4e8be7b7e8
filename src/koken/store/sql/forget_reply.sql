-- Frees a key again. One under which something was written is freed only where what was asked is known to be
-- refused.
-- $1 owner  $2 key  $3 request  $4 begun at  $5 refused?
delete from koken.answered
 where owner = $1 and key = $2 and request = $3::bytea and at = $4::timestamptz and status is null
   and (not written or $5::boolean)
