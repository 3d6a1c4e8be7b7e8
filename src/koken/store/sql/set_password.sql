-- $1 user  $2 hash  $3 hash of the session that stays
with ended as (
  delete from koken.session where user_id = $1 and hash <> $3)
update koken.user set password = $2 where id = $1
