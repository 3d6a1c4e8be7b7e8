-- $1 names
select j.id, j.name, j.app, j.retired_at, v.fingerprint
  from koken.job j left join koken.job_version v on v.id = j.version_id
 where j.workspace_id = 2 and j.name = any($1::text[])
