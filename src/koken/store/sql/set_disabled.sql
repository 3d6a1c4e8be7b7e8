-- $1 user  $2 disabled?
with ended as (
  delete from koken.session where user_id = $1 and $2::boolean)
update koken.user
   set disabled_at = case when $2::boolean then coalesce(disabled_at, koken.now()) end
 where id = $1
