"""What the views ask of the steps of a run, as SQL.

How long a step took is the time of its attempts: not what lies between them, nor the time in which
it had failed. One that is made of other runs takes from its beginning to its end, without the time
in which it had ended, and one that a person has resolved takes nothing.
"""

from __future__ import annotations

from koken.views.recorded import BRIEF

DECLARED = """
select (v.spec -> 'steps')::text as steps
  from koken.run r join koken.job_version v on v.id = r.version_id
 where r.id = $1 and r.step_no is null
"""
COLUMNS = f"""
  r.id, r.step, r.step_no, r.state, r.attempt, r.max_attempts, r.wait_cause, r.wake_at, r.wait_for,
  r.open_needs, r.not_before_at, r.made, r.released, r.at_once, r.open_children, r.bad_children,
  r.started_at, r.finished_at, r.error::text as error, r.progress, r.progress_text,
  r.cancel_requested_at, r.undoes_id, r.origin_id, k.name as worker,
  case when r.state = 'succeeded' and r.acknowledged_at is not null then null
       when r.made is not null
       then extract(epoch from coalesce(r.finished_at, koken.now()) - r.started_at
                             - coalesce(r.idle, interval '0'))::float8
       when r.claimed_at is not null
       then extract(epoch from coalesce(
              (select sum(a.ended_at - a.started_at) from koken.attempt a
                where r.lease > 1 and a.run_id = r.id and a.lease < r.lease), interval '0')
            + coalesce(
              (select a.ended_at from koken.attempt a where a.run_id = r.id and a.lease = r.lease),
              r.finished_at, case r.state when 'running' then koken.now() end, r.claimed_at)
            - r.claimed_at)::float8
  end as took,
  case jsonb_typeof(r.result) when 'array' then jsonb_array_length(r.result) end as length,
  case when jsonb_typeof(r.result) not in ('array', 'null')
       then left(r.result::text, {BRIEF}) end as result
"""
STEPS = f"""
select {COLUMNS} from koken.run r left join koken.worker k on k.id = r.worker_id
 where r.parent_id = $1 and r.step_no > $2 and r.undoes_id is null
 order by r.step_no limit $3::int
"""
UNDONE = f"""
select {COLUMNS} from koken.run r left join koken.worker k on k.id = r.worker_id
 where r.parent_id = $1 and r.undoes_id is not null
 order by r.step_no
"""
NAMED = """
select r.id from koken.run r
 where r.parent_id = $1 and r.step = $2 and r.step_no is not null
 order by r.step_no desc
"""
NUMBERED = """
select r.id from koken.run r where r.parent_id = $1 and r.step_no = $2 and r.undoes_id is null
"""
