-- The last run that each of these has started.
-- $1 runs
select t.id as parent_id, c.id
  from unnest($1::bigint[]) t (id), lateral (
    select c.id from koken.run c
     where c.parent_id = t.id and c.step_no is null and c.undoes_id is null order by c.id desc limit 1) c
