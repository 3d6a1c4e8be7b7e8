-- The limit of a job's lock as it is declared now; more room is handed out by the next grant.
-- $1 template  $2 limit
update koken.lock set max_holders = $2 where kind = 'lock' and template = $1 and max_holders <> $2
