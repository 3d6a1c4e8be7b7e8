-- $1 name  $2 hash  $3 hint  $4 workspace, null: all  $5 scopes  $6 by  $7 how long it is good, null: until revoked
insert into koken.token (name, hash, hint, workspace_id, scopes, created_by, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, koken.now(), koken.now() + $7::interval)
on conflict (lower(name)) where revoked_at is null do nothing
returning id
