-- The latest run that a step has started, and how it stands.
-- $1 the step's run
select c.id, c.state, c.result::text as result, c.error::text as error, j.name as job
  from koken.run c join koken.job j on j.id = c.job_id
 where c.parent_id = $1::bigint and c.undoes_id is null
 order by c.id desc limit 1
