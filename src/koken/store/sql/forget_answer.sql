-- $1 owner  $2 key  $3 request
delete from koken.answered where owner = $1 and key = $2 and request = $3::bytea and status is null
