-- The parts of runs: steps, or those of their items that did not go well.
-- $1 runs  $2 which: steps, bad
select c.id
  from koken.run c
 where c.parent_id = any($1::bigint[]) and c.undoes_id is null and case $2
   when 'steps' then c.need_rule is not null
   when 'bad' then c.step_no is not null and c.state in ('failed', 'cancelled') end
