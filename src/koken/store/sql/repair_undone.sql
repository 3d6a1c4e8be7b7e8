-- Runs of steps and items whose work was undone since they succeeded, and the steps that they belong to.
-- $1 the workflow's run
select distinct d.id, coalesce(d.need_rule is null, false) as is_item, d.parent_id, s.step
  from koken.run u
  join koken.run d on d.id = u.undoes_id and d.state = 'succeeded'
  join koken.run s on s.id = case when d.need_rule is null then d.parent_id else d.id end
 where u.parent_id = $1::bigint and u.undoes_id <> u.parent_id and u.state = 'succeeded'
   and u.acknowledged_at is null
