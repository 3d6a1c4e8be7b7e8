-- $1 job  $2 version
update koken.job set version_id = $2 where id = $1 and version_id is distinct from $2 returning id
