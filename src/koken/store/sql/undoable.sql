-- What is to be undone of a workflow's run, the last completed first: steps that succeeded and name their
-- undo, and of steps with items each item that succeeded; but for what was undone since, and what a fork
-- has taken over.
-- $1 run
with done as (
  select c.id, c.step as name, c.step as shown, c.finished_at, t.of_items
    from koken.run c join koken.step t on t.version_id = c.version_id and t.no = c.step_no and t.compensates
   where c.parent_id = $1::bigint and (c.state = 'succeeded' and c.origin_id is null or t.of_items)
     and c.undoes_id is null),
each_one as (
  select id, name, shown, finished_at from done where not of_items
  union all
  select i.id, d.name, d.name || '[' || i.step_no - 1 || ']', i.finished_at
    from done d join koken.run i on i.parent_id = d.id and i.state = 'succeeded' and i.undoes_id is null
     and i.origin_id is null
   where d.of_items)
select e.id, e.name, e.shown, e.finished_at
  from each_one e
 where not exists (
   select from koken.run u
    where u.parent_id = $1::bigint and u.undoes_id = e.id and u.state = 'succeeded' and u.acknowledged_at is null)
 order by e.finished_at desc, e.id desc
