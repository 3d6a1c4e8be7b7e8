-- $1 name  $2 the same, folded  $3 hash of the password  $4 by
insert into koken.user (name, folded, password, created_by, created_at)
values ($1, $2, $3, $4, koken.now())
on conflict (folded) do nothing
returning id
