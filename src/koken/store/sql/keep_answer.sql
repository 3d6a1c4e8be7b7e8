-- $1 owner  $2 key  $3 request  $4 status  $5 body  $6 location  $7 needed
update koken.answered set status = $4::int, body = $5, location = $6, needed = $7::jsonb
 where owner = $1 and key = $2 and request = $3::bytea and status is null
