-- $1 user  $2 workspace, null: everywhere
delete from koken.membership where user_id = $1 and workspace_id is not distinct from $2::int
