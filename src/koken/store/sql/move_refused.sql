-- $1 workspace  $2 by  $3 why it is refused  $4 detail
insert into koken.event (workspace_id, verb, by, reason, detail)
values (koken.workspace_id($1), 'move refused', $2, $3, $4::jsonb)
