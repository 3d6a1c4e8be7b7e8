-- Makes a job known, and holds its row: versions are numbered one publisher at a time.
-- $1 name  $2 app
insert into koken.job as j (workspace_id, name, app) values (2, $1, $2)
on conflict (workspace_id, name) do update set app = excluded.app, retired_at = null
returning j.id, j.version_id
