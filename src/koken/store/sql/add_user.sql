-- $1 name  $2 hash of the password  $3 by
insert into koken.user (name, password, created_by, created_at) values ($1, $2, $3, koken.now())
on conflict (lower(name)) do nothing
returning id
