-- $1 job  $2 names of the schedules that it has
update koken.schedule set retired_at = koken.now(), revision = revision + 1
 where job_id = $1 and retired_at is null and name <> all($2::text[])
