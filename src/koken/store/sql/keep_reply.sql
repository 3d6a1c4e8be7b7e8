-- $1 owner  $2 key  $3 request  $4 begun at  $5 status  $6 body  $7 location  $8 needed
update koken.answered set status = $5::int, body = $6, location = $7, needed = $8::jsonb
 where owner = $1 and key = $2 and request = $3::bytea and at = $4::timestamptz and status is null
