-- The parts of a run: steps, those of its items that are wanted, the last run that a step has started, or
-- what undoes something.
-- $1 parents  $2 which: steps, bad (items that did not go well), child, undo
select c.id
  from koken.run c
 where c.parent_id = any($1::bigint[]) and case $2
   when 'steps' then c.need_rule is not null and c.undoes_id is null
   when 'bad' then c.step_no is not null and c.undoes_id is null and c.state in ('failed', 'cancelled')
   when 'child' then c.undoes_id is null and not exists (
     select from koken.run n where n.parent_id = c.parent_id and n.undoes_id is null and n.id > c.id)
   when 'undo' then c.undoes_id is not null and c.undoes_id <> c.parent_id end
