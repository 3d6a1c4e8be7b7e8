-- Results of steps that others take, and arguments of their workflows (step 0). A step with items gives the
-- list of what its items returned, in order.
-- $1 workflow runs  $2 steps  $3 whether a step has items  $4 workflow runs whose arguments are wanted
select w.flow_id, w.no, r.state,
       case when not w.of_items or jsonb_typeof(r.result) = 'array' then r.result::text
            when r.state = 'succeeded' then (
              select coalesce(jsonb_agg(i.result order by i.step_no), '[]')::text from koken.run i
               where i.parent_id = r.id and i.state = 'succeeded' and i.undoes_id is null) end as value
  from unnest($1::bigint[], $2::int[], $3::boolean[]) w (flow_id, no, of_items),
       lateral (select * from koken.run c where c.parent_id = w.flow_id and c.step_no = w.no limit 1) r
union all
select r.id, 0, r.state, coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id))::text
  from koken.run r where r.id = any($4::bigint[])
