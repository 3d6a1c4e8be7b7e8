-- The locks that steps of a run take, or the run itself (0), and who has them.
-- $1 run  $2 steps that take one  $3 those of them whose key is one item's
with r as materialized (
  select r.workspace_id, r.version_id, r.logical_at, r.root_id, r.id, w.name as workspace,
         coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id), '{}') as args
    from koken.run r join koken.workspace w on w.id = r.workspace_id where r.id = $1::bigint),
wanted as materialized (
  select r.workspace_id, case when t.no = any($3::int[]) then t.lock_key
           else koken.fill(t.lock_key, r.args, r.workspace, r.logical_at) end as key, t.no
    from r join koken.step t on t.version_id = r.version_id and t.no = any($2::int[]) and t.lock_key is not null
  union all
  select r.workspace_id, koken.fill(v.lock_key, r.args, r.workspace, r.logical_at), 0
    from r join koken.job_version v on v.id = r.version_id and v.lock_key is not null
   where 0 = any($2::int[]))
select d.key, (
         select min(h.run_id) from koken.lock k join koken.hold h on h.lock_id = k.id and h.granted_at is not null
          where k.workspace_id = d.workspace_id and k.kind = 'lock' and k.key = d.key) as held_by
  from (select workspace_id, key, min(no) as no from wanted group by 1, 2) d
 order by d.no
