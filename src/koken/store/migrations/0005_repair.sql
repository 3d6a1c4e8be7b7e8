-- Repair by people: what has ended goes again, from where it stands or from a step on. What exactly goes
-- again is decided by the caller, who knows the graph; here rows are moved.
-- minimum_reader: 1

-- How many of a run's own go: let go, and not ended. Null for a run that has none.
create function koken.open_below(p_id bigint, p_made int) returns int language sql stable
return case when p_made is not null then (
  select count(*)::int from koken.run c where c.parent_id = p_id and c.finished_at is null and c.open_needs is null) end;

-- How long a run has not gone since it began, now that it goes again: before, and since it ended.
create function koken.idle_with(p_before interval, p_started_at timestamptz, p_ended_at timestamptz)
returns interval language sql stable
return case when p_started_at is not null then
  coalesce(p_before, interval '0') + (koken.now() - coalesce(p_ended_at, koken.now())) end;

-- Counts one more that goes below a run. A body that waits for one of its runs has to see the next that
-- ends, whichever that is; what is made of steps or items, or is to end, waits for all of them.
create function koken.count_open(p_parent_id bigint) returns void language sql as $$
  update koken.run p
     set open_children = coalesce(p.open_children, 0) + 1,
         wake_below = case
           when p.settle is not null or p.at_once is not null
             or p.step_no is null and exists (select from koken.step t where t.version_id = p.version_id)
             then p.wake_below
           when p.state = 'waiting' and p.wait_cause = 'children' then p.wake_below + 1
           when p.state = 'running' then -1  -- it counts them anew before it parks
           else p.wake_below end
   where p.id = p_parent_id
$$;

-- Since when a run has its overlap key for itself.
create function koken.live_since(p_run_id bigint) returns timestamptz language sql stable as $$
  select coalesce(started_at, created_at) from koken.run where id = p_run_id
$$;

-- Lets an ended run go again, or one that was set back: attempts count from 1, what it kept stays. One
-- that is made of steps goes on with them; a window that has closed meanwhile does not hold those that have
-- not begun. p_args are other arguments; null: those that it has.
create function koken.run_again(p_run_id bigint, p_args jsonb) returns text language plpgsql as $$
declare
  r koken.run;
  v koken.job_version;
  full_args jsonb;
  workspace text;
  fresh text;
  holder bigint;
begin
  select * into r from koken.run where id = p_run_id for update;
  select * into v from koken.job_version where id = r.version_id;
  select name into workspace from koken.workspace where id = r.workspace_id;
  full_args := coalesce(p_args, r.args, (select a.args from koken.run_args a where a.run_id = r.id));
  fresh := case when koken.wants_lock(v, r.overlap) then 'blocked' else 'ready' end;
  r.overlap_scope := koken.overlap_scope(r.overlap);
  perform koken.forget_undone(array[r.id]);
  update koken.run u set acknowledged_at = koken.now()
   where u.parent_id = r.id and u.undoes_id is not null and u.state in ('failed', 'cancelled')
     and u.acknowledged_at is null;
  update koken.run set state = 'blocked', overlap_scope = null, finished_at = null
   where id = r.id and state = 'succeeded';
  if r.overlap_scope = 'live' then
    holder := koken.other_live_run(r.workspace_id, r.job_id, r.overlap_key, v.plain);
    holder := nullif(holder, r.id);
  end if;
  if holder is null then
    begin
      update koken.run u
         set state = fresh, attempt = 0, infra_attempt = 0, error = null, result = null, progress = null,
             progress_text = null, finished_at = null, acknowledged_at = null, acknowledged_by = null,
             idle = koken.idle_with(u.idle, u.started_at, r.finished_at),
             cancel_requested_at = null, wait_cause = null, wait_for = null, wake_at = null,
             has_locks = (fresh = 'blocked'), rank = koken.now() + u.priority * interval '60 s',
             overlap_scope = r.overlap_scope, start_deadline_at = koken.now() + v.start_timeout,
             deadline_at = koken.now() + v.run_timeout, settle = null, open_needs = null,
             wake_below = null, open_children = koken.open_below(u.id, u.made),
             unwind = nullif(exists (
                 select from koken.step t where t.version_id = u.version_id and t.compensates and u.made is not null)
               or exists (select from koken.checkpoint c where c.run_id = u.id and c.undo), false),
             args = case when octet_length(full_args::text) <= 512 then full_args end
       where u.id = r.id and u.state in ('failed', 'cancelled', 'skipped', 'blocked')
      returning * into r;
    exception when unique_violation then
      select min(o.id) into holder from koken.run o
       where o.workspace_id = r.workspace_id and o.overlap_key = r.overlap_key and o.id <> r.id
         and o.state in ('blocked', 'ready', 'running', 'waiting');
    end;
  end if;
  if holder is not null then
    raise exception 'run % cannot be retried: run % holds its overlap key %', r.id, holder, r.overlap_key
      using errcode = 'KK408', detail = jsonb_build_object(
        'what', r.overlap_key, 'held_by', holder, 'since', koken.live_since(holder))::text;
  end if;
  update koken.run c set start_deadline_at = null
   where c.parent_id = r.id and r.made is not null and c.state = 'blocked' and c.open_needs is not null
     and c.start_deadline_at <= koken.now();
  if p_args is not null and octet_length(full_args::text) > 512 then
    insert into koken.run_args (run_id, args) values (r.id, full_args)
    on conflict (run_id) do update set args = excluded.args;
  end if;
  if fresh = 'blocked' then
    perform koken.stand_in_line(r, workspace, v, full_args, koken.now());
  else
    perform koken.hint(r.queue_id);
  end if;
  return fresh;
end $$;

-- Deletes what was below runs that go again from nothing, and what they kept: their items. Runs of other
-- jobs stay, as history: with the step that started them, or by themselves when that was an item.
create function koken.forget(p_ids bigint[]) returns void language plpgsql as $$
declare
  below bigint[];
  freed bigint[];
begin
  with recursive b (id) as (
    select c.id from koken.run c
     where c.parent_id = any(p_ids) and c.step_no is not null and c.undoes_id is null
    union all
    select c.id from b join koken.run c on c.parent_id = b.id and c.step_no is not null)
  select coalesce(array_agg(id), '{}') into below from b;
  perform koken.drop_held(below);
  with f as (
    update koken.run c set parent_id = null, root_id = null
     where c.parent_id = any(below) and c.step_no is null
    returning c.id)
  select array_agg(id) into freed from f;
  if freed is not null then
    with recursive d (id, root) as (
      select id, id from unnest(freed) id
      union all
      select c.id, d.root from d join koken.run c on c.parent_id = d.id)
    update koken.run c set root_id = d.root from d where c.id = d.id and c.parent_id is not null;
  end if;
  delete from koken.run_args where run_id = any(below);
  delete from koken.attempt where run_id = any(below);
  delete from koken.hold where run_id = any(below);
  delete from koken.moving where run_id = any(below);
  delete from koken.run where id = any(below);
  below := below || p_ids;
  delete from koken.checkpoint where run_id = any(below);
  delete from koken.ledger where run_id = any(below);
  delete from koken.signal where run_id = any(below);
  delete from koken.question where run_id = any(below);
end $$;

-- What was undone of bodies is no more, nor is what they have recorded after it.
create function koken.forget_undone(p_ids bigint[]) returns void language plpgsql as $$
declare done record;
begin
  for done in
    update koken.run u set acknowledged_at = koken.now()
     where u.parent_id = any(p_ids) and u.undoes_id = u.parent_id and u.state = 'succeeded'
       and u.acknowledged_at is null
    returning u.parent_id, split_part(substr(u.step, 6), '[', 1) as name
  loop
    perform koken.forget_from(done.parent_id, done.name);
  end loop;
end $$;

-- Deletes what a body has recorded from a step on. Order in the body tells what is after it; what has no
-- place there goes by its time.
create function koken.forget_from(p_run_id bigint, p_name text) returns void language plpgsql as $$
declare
  first_at timestamptz;
  place int;
  gone text[];
begin
  select min(at), min(nullif(ordinal, 0)) into first_at, place
    from koken.checkpoint where run_id = p_run_id and koken.recorded_name(key) = p_name;
  with d as (
    delete from koken.checkpoint
     where run_id = p_run_id and (koken.recorded_name(key) = p_name
       or case when ordinal > 0 and place is not null then ordinal > place else at > first_at end)
    returning key)
  select coalesce(array_agg(key), '{}') into gone from d;
  delete from koken.ledger where run_id = p_run_id and (key = p_name or updated_at > first_at);
  delete from koken.question where run_id = p_run_id and key = any(gone);
  update koken.signal set taken_by = null where run_id = p_run_id and taken_by = any(gone);
end $$;

-- The step of a body that a checkpoint is of, or of one of its items.
create function koken.recorded_name(p_key text) returns text language sql immutable
return split_part(regexp_replace(p_key, '^(failed:)?(step|map|child|operation):', ''), '[', 1);

-- Sets parts of a run back, so that they go again when their turn comes: steps, items, or the run that a
-- step has started. p_anew: from nothing, else with what they kept and with those of their own parts that
-- were set back too. p_closes: when their window closes; one that has closed does not hold them any more.
create function koken.set_back(
  p_ids bigint[], p_anew boolean[], p_attempts int[], p_max_attempts int[], p_closes timestamptz[]
) returns void language plpgsql as $$
declare
  anew bigint[] := array(select t.id from unnest(p_ids, p_anew) t (id, anew) where t.anew);
  kept bigint[] := array(select t.id from unnest(p_ids, p_anew) t (id, anew) where not t.anew);
  s record;
begin
  perform koken.forget(anew);
  perform koken.drop_held(anew);
  perform koken.forget_undone(kept);
  update koken.run u set acknowledged_at = koken.now()
   where u.undoes_id = any(p_ids) and u.undoes_id <> u.parent_id and u.acknowledged_at is null
     and u.finished_at is not null;
  update koken.run r
     set state = 'blocked', open_needs = 1, good_needs = 0, bad_needs = 0, lost_needs = 0, settle = null,
         wait_cause = null, wait_for = null, wake_at = null, attempt = b.attempt, max_attempts = b.max_attempts,
         infra_attempt = 0, error = null, result = null, progress = null, progress_text = null,
         finished_at = null, acknowledged_at = null, acknowledged_by = null, cancel_requested_at = null,
         idle = koken.idle_with(r.idle, r.started_at, r.finished_at),
         start_deadline_at = case when b.closes > koken.now() then b.closes end, deadline_at = null,
         overlap_scope = null, origin_id = null, origin_verb = null, wake_below = case when b.anew then 0 end, tolerate_bad = null,
         made = case when b.anew then nullif((
           select count(*) from koken.run c where c.parent_id = r.id and c.undoes_id is null), 0) else r.made end,
         at_once = case when not b.anew then r.at_once end, released = case when not b.anew then r.released end,
         open_children = koken.open_below(r.id, r.made), bad_children = case when r.made is not null then 0 end,
         unwind = nullif(exists (select from koken.checkpoint c where c.run_id = r.id and c.undo), false)
    from unnest(p_ids, p_anew, p_attempts, p_max_attempts, p_closes) as b (id, anew, attempt, max_attempts, closes)
   where r.id = b.id and r.state in ('succeeded', 'failed', 'cancelled', 'skipped');
  for s in
    select t as step, r as run, w.name as workspace,
           coalesce(f.args, (select a.args from koken.run_args a where a.run_id = f.id), '{}')
             || case when r.need_rule is null then coalesce(r.args, '{}') else '{}' end as args
      from koken.run r
      join koken.run p on p.id = r.parent_id
      join koken.run f on f.id = case when r.need_rule is null then p.parent_id else p.id end
      join koken.step t on t.version_id = r.version_id
       and t.no = case when r.need_rule is null then p.step_no else r.step_no end
      join koken.workspace w on w.id = r.workspace_id
     where r.id = any(p_ids) and r.has_locks and r.step_no is not null and r.undoes_id is null
     order by r.id
  loop
    perform koken.stand_for_step(s.run, s.step, s.args, s.workspace, 'infinity');
  end loop;
end $$;

-- Ends what steps had started and what was to go again with them, when they go another way.
create function koken.drop_held(p_ids bigint[]) returns void language sql as $$
  update koken.run c
     set state = 'cancelled', finished_at = koken.now(), open_needs = null,
         error = '{"type": "Cancel", "message": "the step that had started it does not wait for it any more"}'
   where c.parent_id = any(p_ids) and c.step_no is null and c.state = 'blocked' and c.open_needs is not null
$$;

-- What a person says of a part that has not gone well, or not gone at all: that it is skipped or done.
create function koken.declare_end(p_id bigint, p_state text, p_result jsonb, p_error jsonb) returns bigint[]
language plpgsql as $$
declare freed bigint[];
begin
  perform koken.drop_held(array[p_id]);
  update koken.run set state = 'blocked' where id = p_id and state = 'cancelled';
  update koken.run
     set state = p_state, result = p_result, error = p_error, finished_at = koken.now(), open_needs = null,
         settle = null, wait_cause = null, wait_for = null, wake_at = null, start_deadline_at = null,
         cancel_requested_at = null, acknowledged_at = koken.now(), origin_id = null, origin_verb = null
   where id = p_id and state in ('blocked', 'ready', 'waiting', 'failed', 'skipped');
  perform koken.tell_undos(u.parent_id) from koken.run u where u.id = p_id and u.undoes_id is not null;
  with h as (delete from koken.hold where run_id = p_id returning lock_id)
  select coalesce(array_agg(lock_id), '{}') into freed from h;
  return freed;
end $$;

-- Says anew of a run what was to be undone of it, and is not.
create function koken.tell_undos(p_id bigint) returns void language sql as $$
  update koken.run p
     set error = p.error - 'open_undos' || coalesce((
       select jsonb_build_object('open_undos', jsonb_agg(u.step order by u.step_no))
         from koken.run u
        where u.parent_id = p_id and u.undoes_id is not null and u.state in ('failed', 'cancelled')
          and u.acknowledged_at is null
       having count(*) > 0), '{}')
   where p.id = p_id
$$;

-- Has a run that still goes see that a part of it stands otherwise.
create function koken.look_again(p_id bigint, out queue_ids int[], out lock_ids bigint[]) language plpgsql as $$
declare
  r koken.run;
  counted record;
begin
  queue_ids := '{}';
  lock_ids := '{}';
  select * into r from koken.run where id = p_id;
  if r.state = 'ready' then
    update koken.run set wake_below = null where id = p_id;
  else
    counted := koken.recount(p_id);
    queue_ids := counted.queue_ids;
    lock_ids := counted.lock_ids;
  end if;
end $$;

-- Lets the run that a step has started go again, if it was set back, and parks the step until it has ended.
create function koken.reopen_child(
  p_run_id bigint, p_lease int, out state text, out queue_ids int[], out lock_ids bigint[]
) language plpgsql as $$
declare
  child bigint;
  moved record;
begin
  select c.id into child from koken.run c
   where c.parent_id = p_run_id and c.undoes_id is null order by c.id desc limit 1;
  perform koken.run_again(c.id, null) from koken.run c
   where c.id = child and c.state = 'blocked' and c.open_needs is not null;
  moved := koken.reopen_run(p_run_id, p_lease, false);
  state := moved.state;
  queue_ids := moved.queue_ids;
  lock_ids := moved.lock_ids || array(
    select h.lock_id from koken.hold h where h.run_id = child and h.granted_at is null);
end $$;

-- Gives the undoing of what a run did another chance; the run waits for it and ends as it has ended.
create function koken.undo_again(p_id bigint) returns int language plpgsql as $$
declare
  u koken.run;
  queue int;
begin
  select * into u from koken.run where id = p_id for update;
  update koken.run
     set settle = state, state = 'ready', finished_at = null, wake_below = 0,
         idle = koken.idle_with(idle, started_at, finished_at),
         open_children = koken.open_below(id, made) + 1,
         rank = koken.now() + priority * interval '60 s'
   where id = u.parent_id and state in ('failed', 'cancelled');
  perform koken.count_open(p.parent_id) from koken.run p where p.id = u.parent_id and p.parent_id is not null;
  update koken.run
     set state = 'ready', attempt = 0, infra_attempt = 0, error = null, finished_at = null, open_needs = null,
         acknowledged_at = null, acknowledged_by = null, cancel_requested_at = null, wake_below = null,
         rank = koken.now() + priority * interval '60 s'
   where id = u.id and state in ('failed', 'cancelled')
  returning queue_id into queue;
  return queue;
end $$;

-- A new run of the same version: steps p_keep stand there as they ended, the others are not begun. Of those
-- with a window, p_nos, p_closes says when that closes; one that has closed does not hold them.
create function koken.fork_run(
  p_run_id bigint, p_by text, p_keep int[], p_nos int[], p_closes timestamptz[]
) returns bigint language plpgsql as $$
declare
  r koken.run;
  f koken.run;
  v koken.job_version;
  s record;
  full_args jsonb;
  workspace text;
  holder bigint;
begin
  select * into r from koken.run where id = p_run_id;
  select * into v from koken.job_version where id = r.version_id;
  select name into workspace from koken.workspace where id = r.workspace_id;
  full_args := coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id));
  if koken.overlap_scope(r.overlap) = 'live' then
    holder := koken.other_live_run(r.workspace_id, r.job_id, r.overlap_key, v.plain);
  end if;
  if holder is null then
    begin
      insert into koken.run (
        workspace_id, job_id, version_id, queue_id, state, start_deadline_at, deadline_at, priority, rank,
        max_attempts, max_infra_attempts, has_locks, overlap, overlap_key, overlap_scope, args, trigger_kind,
        trigger_by, subject, logical_at, created_at, hooks, made, open_children, bad_children, unwind,
        origin_id, origin_verb)
      select r.workspace_id, r.job_id, r.version_id, r.queue_id,
             case when koken.wants_lock(v, r.overlap) then 'blocked' else 'ready' end,
             koken.now() + v.start_timeout, koken.now() + v.run_timeout, r.priority,
             koken.now() + r.priority * interval '60 s', v.max_attempts, v.max_infra_attempts,
             koken.wants_lock(v, r.overlap), r.overlap, r.overlap_key, koken.overlap_scope(r.overlap), r.args,
             'user', p_by, r.subject, r.logical_at, koken.now(), r.hooks, r.made, 0, 0,
             nullif(exists (select from koken.step t where t.version_id = r.version_id and t.compensates), false),
             r.id, 'fork'
      returning * into f;
    exception when unique_violation then
      select min(o.id) into holder from koken.run o
       where o.workspace_id = r.workspace_id and o.overlap_key = r.overlap_key
         and o.state in ('blocked', 'ready', 'running', 'waiting');
    end;
  end if;
  if holder is not null then
    raise exception 'run % cannot be forked: run % holds its overlap key %', r.id, holder, r.overlap_key
      using errcode = 'KK408', detail = jsonb_build_object(
        'what', r.overlap_key, 'held_by', holder, 'since', koken.live_since(holder))::text;
  end if;
  if r.args is null then
    insert into koken.run_args (run_id, args) values (f.id, full_args);
  end if;
  insert into koken.run (
    workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, start_deadline_at,
    priority, rank, attempt, max_attempts, infra_attempt, max_infra_attempts, has_locks, result, error,
    trigger_kind, trigger_by, subject, logical_at, created_at, started_at, claimed_at, finished_at,
    need_rule, open_needs, good_needs, bad_needs, lost_needs, frees, not_before_at, late_skips,
    made, open_children, bad_children, at_once, released, origin_id, origin_verb)
  select c.workspace_id, c.job_id, c.version_id, c.queue_id, f.id, f.id, c.step_no, c.step,
         case when k.keep then c.state else 'blocked' end, (
           select w.closes from unnest(p_nos, p_closes) w (no, closes)
            where not k.keep and w.no = c.step_no and w.closes > koken.now()),
         c.priority, koken.now() + c.priority * interval '60 s', case when k.keep then c.attempt else 0 end,
         case when k.keep then c.max_attempts else t.max_attempts end, 0, t.max_infra_attempts, c.has_locks,
         case when k.keep then c.result end, case when k.keep then c.error end, 'run', f.id::text, c.subject,
         c.logical_at, koken.now(), case when k.keep then c.started_at end, case when k.keep then c.claimed_at end,
         case when k.keep then c.finished_at end, c.need_rule, case when not k.keep then 1 end, 0, 0, 0, c.frees,
         c.not_before_at, c.late_skips, case when k.items then c.made end, case when k.items then 0 end,
         case when k.items then c.bad_children end, case when k.items then c.at_once end,
         case when k.items then c.released end, case when k.keep then c.id end, case when k.keep then 'fork' end
    from koken.run c
    join koken.step t on t.version_id = c.version_id and t.no = c.step_no,
         lateral (select c.step_no = any(p_keep) as keep, c.step_no = any(p_keep) and c.at_once is not null as items) k
   where c.parent_id = r.id and c.need_rule is not null and c.undoes_id is null;
  insert into koken.run (
    workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, priority, rank,
    attempt, max_attempts, infra_attempt, max_infra_attempts, args, result, error, trigger_kind, trigger_by,
    subject, logical_at, created_at, started_at, claimed_at, finished_at, acknowledged_at, origin_id, origin_verb)
  select i.workspace_id, i.job_id, i.version_id, i.queue_id, n.id, f.id, i.step_no, i.step, i.state, i.priority,
         i.rank, i.attempt, i.max_attempts, i.infra_attempt, i.max_infra_attempts, i.args, i.result, i.error,
         'run', n.id::text, i.subject, i.logical_at, koken.now(), i.started_at, i.claimed_at, i.finished_at,
         i.acknowledged_at, i.id, 'fork'
    from koken.run n
    join koken.run i on i.parent_id = n.origin_id and i.step_no is not null and i.undoes_id is null
   where n.parent_id = f.id and n.at_once is not null;
  for s in
    select t as step, c as run from koken.run c join koken.step t on t.version_id = c.version_id and t.no = c.step_no
     where c.parent_id = f.id and c.state = 'blocked' and c.has_locks
  loop
    perform koken.stand_for_step(s.run, s.step, full_args, workspace, 'infinity');
  end loop;
  if f.state = 'blocked' then
    perform koken.stand_in_line(f, workspace, v, full_args, koken.now());
  else
    perform koken.hint(f.queue_id);
  end if;
  return f.id;
end $$;
