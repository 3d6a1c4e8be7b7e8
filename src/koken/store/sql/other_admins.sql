-- Somebody else who administers everything; $1 user
select m.user_id from koken.membership m join koken.user u on u.id = m.user_id
 where m.workspace_id is null and m.role = 'admin' and u.disabled_at is null and u.id <> $1
 limit 1
