-- What the children of a parent have come to, undo steps apart, and how the parent itself stands.
-- $1 parent
select count(*) filter (where c.undoes_id is null) as total,
       count(*) filter (where c.state = 'succeeded' and c.undoes_id is null) as succeeded,
       count(*) filter (where c.state = 'skipped' and c.undoes_id is null) as skipped,
       count(*) filter (where c.state = 'failed' and c.undoes_id is null) as failed,
       count(*) filter (where c.state = 'cancelled' and c.undoes_id is null) as cancelled,
       count(*) filter (where c.undoes_id is not null and c.state in ('failed', 'cancelled') and c.acknowledged_at is null) as undo_failed,
       count(*) filter (where c.finished_at is null and c.open_needs is null) as open,
       count(*) filter (where c.open_needs is not null and c.state = 'blocked' and c.undoes_id is null) as not_begun,
       (select array_agg(f.step order by f.step_no)
          from (select step, step_no from koken.run
                 where parent_id = $1::bigint and state in ('failed', 'cancelled') and undoes_id is null
                 order by step_no nulls last limit 5) f) as worst,
       (select f.error::text from koken.run f
         where f.parent_id = $1::bigint and f.state in ('failed', 'cancelled') and f.undoes_id is null
         order by f.state = 'failed' desc, f.finished_at, f.id limit 1) as error,
       (select coalesce(f.step || case when f.need_rule is null and f.step_no is not null
                                   then '[' || f.step_no - 1 || ']' else '' end, j.name || ' ' || f.id) from koken.run f join koken.job j on j.id = f.job_id
         where f.parent_id = $1::bigint and f.state in ('failed', 'cancelled') and f.undoes_id is null
         order by f.state = 'failed' desc, f.finished_at, f.id limit 1) as first_step,
       (select array_agg(f.step order by f.step_no) from koken.run f
         where f.parent_id = $1::bigint and f.undoes_id is not null and f.state in ('failed', 'cancelled')
           and f.acknowledged_at is null) as undo_steps,
       (select p.error::text from koken.run p where p.id = $1::bigint) as own_error
  from koken.run c where c.parent_id = $1::bigint
