-- The names of a job's arguments as a start would take them now; null: any.
-- $1 job  $2 workspace
select (koken.version_of($1, w.id)).argument_names from koken.workspace w where w.name = $2
