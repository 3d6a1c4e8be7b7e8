-- $1 names
select name, koken.queue_id(name) as id from unnest($1::text[]) name
