-- $1 name  $2 hash  $3 hint  $4 workspace, null: all  $5 rights  $6 by  $7 how long it is good, null: until revoked
-- $8 when the token that makes it is good no more, null: it is none, or good until revoked
insert into koken.token (name, hash, hint, workspace_id, rights, created_by, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, koken.now(), least(koken.now() + $7::interval, $8::timestamptz))
on conflict (coalesce(workspace_id, 0), lower(name)) where revoked_at is null do nothing
returning expires_at
