-- The steps of a body, or of its items, whose work was undone since they were recorded.
-- $1 run
select distinct split_part(substr(u.step, 6), '[', 1) as name
  from koken.run u
 where u.parent_id = $1::bigint and u.undoes_id = u.parent_id and u.state = 'succeeded' and u.acknowledged_at is null
