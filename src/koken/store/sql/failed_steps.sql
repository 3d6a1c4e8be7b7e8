-- The steps of a workflow's run that did not go well, by their place.
-- $1 run
select r.step from koken.run r
 where r.parent_id = $1::bigint and r.need_rule is not null and r.undoes_id is null and r.state in ('failed', 'cancelled')
 order by r.step_no
