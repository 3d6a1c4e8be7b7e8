-- $1 user  $2 workspace, null: everywhere  $3 role  $4 by
insert into koken.membership (user_id, workspace_id, role, given_by, given_at)
values ($1, $2, $3, $4, koken.now())
on conflict (user_id, coalesce(workspace_id, 0)) do update
   set role = excluded.role, given_by = excluded.given_by, given_at = excluded.given_at
