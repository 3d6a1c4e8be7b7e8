-- Subjects: rows of the program's own tables that are moved from state to state, and what follows the
-- end of a run: such a move, or another job.
-- minimum_reader: 1

-- Moves a subject, starts the job that hangs on it, and records both: all of it or nothing. The caller
-- holds the row and has checked the state, the guard and who it is. p_move says what is moved:
--   machine, transition, table, column, key (quoted names), subject (the key's value), state, target,
--   on_success, on_failure, supersedes, excludes (jobs), about and about_argument (the subject of these
--   jobs and the argument in it), by, reason.
-- A refusal is an answer, not an error: the caller's transaction goes on.
create function koken.carry_move(
  p_move jsonb, p_job text, p_args jsonb, p_workspace text, p_run_at timestamptz, p_delay float8,
  p_priority int, p_queue text, p_idempotency_key text, p_overlap text, p_logical_at timestamptz,
  p_trigger_kind text, p_trigger_by text,
  out run_id bigint, out in_line boolean, out refusal text, out held_by bigint, out since timestamptz
) language plpgsql as $$
declare
  ws_id int := koken.workspace_id(p_workspace);
  started record;
  superseded int[];
  moved int;
begin
  in_line := false;
  if p_move -> 'excludes' <> '[]' then
    select e.run_id, e.since, e.refusal into held_by, since, refusal
      from koken.excluded_by(p_move, ws_id, p_workspace) e;
    if held_by is not null then
      return;
    end if;
  end if;
  if p_job is not null then
    started := koken.start_run(
      p_job, p_args, p_workspace, p_run_at, p_delay, p_priority, p_queue, p_idempotency_key, p_overlap,
      p_logical_at, p_trigger_kind, p_trigger_by, null, null, false, null, null);
    if started.verdict <> 'started' then
      held_by := coalesce(started.blocker_id, started.run_id);
      refusal := format('%L starts %s, and that is not started: %s', p_move ->> 'transition', p_job,
        coalesce(started.reason, format('its idempotency key belongs to run %s', started.run_id)));
      return;
    end if;
    run_id := started.run_id;
    in_line := started.in_line;
  end if;
  execute format('update %1$s set %2$s = %3$L where %4$s = %5$L and %2$s::text = %6$L', p_move ->> 'table',
    p_move ->> 'column', p_move ->> 'target', p_move ->> 'key', p_move ->> 'subject', p_move ->> 'state');
  get diagnostics moved = row_count;
  if moved <> 1 then
    raise exception '% % has changed since it was looked at; move it in one transaction',
      p_move ->> 'machine', p_move ->> 'subject' using errcode = 'KK410';
  end if;
  superseded := array(
    select j.id from koken.job j
     where j.workspace_id in (2, ws_id)
       and j.name in (select jsonb_array_elements_text(p_move -> 'supersedes')));
  if run_id is not null and (p_move ->> 'on_success' is not null or p_move ->> 'on_failure' is not null
     or superseded <> '{}') then
    insert into koken.moving (run_id, machine, transition, table_name, column_name, key_name, subject_id,
                              target, on_success, on_failure, supersedes)
    select carry_move.run_id, p_move ->> 'machine', p_move ->> 'transition',
           format('%I.%I', n.nspname, c.relname), p_move ->> 'column', p_move ->> 'key',
           p_move ->> 'subject', p_move ->> 'target', p_move ->> 'on_success', p_move ->> 'on_failure',
           superseded
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.oid = (p_move ->> 'table')::regclass;
    update koken.run set hooks = true
     where id = carry_move.run_id
       and (p_move ->> 'on_success' is not null or p_move ->> 'on_failure' is not null);
  end if;
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
  values (ws_id, 'move', p_move ->> 'by', p_move ->> 'reason', carry_move.run_id,
          (select r.job_id from koken.run r where r.id = carry_move.run_id),
          jsonb_build_object('machine', p_move -> 'machine', 'transition', p_move -> 'transition',
            'subject', p_move -> 'subject', 'from', p_move -> 'state', 'to', p_move -> 'target'));
end $$;

-- The runs that stand in line on a subject or hold it, whatever they do there.
create function koken.standing_on(p_lock_id bigint) returns table (hold_id bigint, run_id bigint)
language sql stable as $$
  select id, run_id from koken.hold where lock_id = p_lock_id and granted_at is null
  union all
  select id, run_id from koken.hold where lock_id = p_lock_id and granted_at is not null
$$;

-- The first run of the jobs that a move excludes.
create function koken.excluded_by(p_move jsonb, p_workspace_id int, p_workspace text)
returns table (run_id bigint, since timestamptz, refusal text) language sql stable as $$
  select r.id, coalesce(r.started_at, r.created_at),
         format('%L is refused while run %s of %s goes, since %s UTC', p_move ->> 'transition', r.id, j.name,
           to_char(coalesce(r.started_at, r.created_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'))
    from koken.lock k
   cross join lateral koken.standing_on(k.id) s
    join koken.run r on r.id = s.run_id
    join koken.job j on j.id = r.job_id
   where k.workspace_id = p_workspace_id and k.kind = 'subject'
     and k.key = koken.fill(p_move ->> 'about',
           jsonb_build_object(p_move ->> 'about_argument', p_move ->> 'subject'), p_workspace, koken.now())
     and j.name in (select jsonb_array_elements_text(p_move -> 'excludes')) and r.finished_at is null
   order by r.id limit 1
$$;

-- Asks those on a subject to end that stand before a run that supersedes their job, whatever they do:
-- what waits ends at once, what runs is stopped, what has done something undoes it. They keep the
-- subject until then, and the run that supersedes them stays in line. Returns the queues in which some
-- of them have to clean up. One that somebody is just writing to is left to the next look.
create function koken.supersede(p_lock_id bigint) returns setof int language plpgsql as $$
declare
  newer record;
  older record;
begin
  for newer in
    select h.id, h.run_id, m.supersedes, r.trigger_by, j.name
      from koken.hold h
      join koken.moving m on m.run_id = h.run_id and m.supersedes <> '{}'
      join koken.run r on r.id = h.run_id
      join koken.job j on j.id = r.job_id
     where h.lock_id = p_lock_id and h.granted_at is null and h.not_before <= koken.now()
     order by h.id
  loop
    for older in
      select o.id from koken.standing_on(p_lock_id) s join koken.run o on o.id = s.run_id
       where s.hold_id < newer.id and o.job_id = any(newer.supersedes)
         and o.finished_at is null and o.cancel_requested_at is null
       order by o.id for update of o skip locked
    loop
      return query
        select unnest(c.queue_ids)
          from koken.cancel_run(older.id, coalesce(newer.trigger_by, session_user),
            format('superseded by run %s (%s)', newer.run_id, newer.name)) c;
    end loop;
  end loop;
end $$;

-- What hangs on the ends of runs, which happened under these leases: a move of their subject, another
-- job. An error of theirs is an event, and never the end's. A row that somebody else holds, perhaps in a
-- transaction that stays open, keeps nobody from ending: what meets one is done later.
create function koken.follow(p_ids bigint[], p_leases int[], p_states text[]) returns setof int
language plpgsql as $$
declare
  ended record;
  queue int;
  patience text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '20ms', true);
  for ended in select * from unnest(p_ids, p_leases, p_states) as t (id, lease, state) loop
    begin
      perform koken.move_on(ended.id, ended.state);
      queue := koken.start_next(ended.id, ended.lease, ended.state);
    exception when lock_not_available or deadlock_detected or serialization_failure then
      queue := null;
      insert into koken.late_follow_up (run_id, lease, state) values (ended.id, ended.lease, ended.state)
      on conflict do nothing;
      perform set_config('lock_timeout', '1ms', true);
    end;
    if queue is not null then
      return next queue;
    end if;
  end loop;
  perform set_config('lock_timeout', patience, true);
end $$;

-- What follows runs that have just ended, in the transaction that ended them. Returns the queues in which
-- something became ready.
create function koken.follow_ups(p_ids bigint[]) returns setof int language sql as $$
  select koken.follow(array_agg(id), array_agg(lease), array_agg(state)) from (
    select id, lease, state from koken.run
     where id = any(p_ids) and hooks and state in ('succeeded', 'failed', 'cancelled') order by id) r
$$;

-- What met somebody else's row, again; the sweep behind every end.
create function koken.follow_late() returns setof int language sql as $$
  with due as (
    delete from koken.late_follow_up
     where (run_id, lease) in (
       select run_id, lease from koken.late_follow_up order by run_id, lease limit 100 for update skip locked)
    returning run_id, lease, state)
  select koken.follow(array_agg(run_id), array_agg(lease), array_agg(state)) from due having count(*) > 0
$$;

-- Moves the subject of a run that has ended, if it still stands where the run's transition put it. An
-- error of the program's table becomes an event.
create function koken.move_on(p_run_id bigint, p_state text) returns void language plpgsql as $$
declare
  m koken.moving;
  goal text;
  moved int;
  happened text := 'move';
  why text := format('run %s %s', p_run_id, case p_state when 'cancelled' then 'was cancelled' else p_state end);
begin
  select * into m from koken.moving where run_id = p_run_id;
  goal := case p_state when 'succeeded' then m.on_success else m.on_failure end;
  if goal is null then
    return;
  end if;
  begin
    execute format('update %1$s set %2$s = %3$L where %4$s = %5$L and %2$s::text = %6$L', m.table_name, m.column_name,
      goal, m.key_name, m.subject_id, m.target);
    get diagnostics moved = row_count;
    set constraints all immediate;  -- what the table would say at the commit, it says here
    if moved = 0 then
      happened := 'move passed over';
      why := format('%s, but %s %s is no longer %s', why, m.machine, m.subject_id, m.target);
    end if;
  exception
    when lock_not_available or deadlock_detected or serialization_failure then
      raise;
    when others or query_canceled or assert_failure then
      happened := 'move failed';
      why := sqlerrm;
  end;
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
  select r.workspace_id, happened, 'koken', why, r.id, r.job_id,
         jsonb_build_object('machine', m.machine, 'transition', m.transition, 'subject', m.subject_id,
           'from', m.target, 'to', goal)
    from koken.run r where r.id = p_run_id;
end $$;

-- Starts the job that follows a success or a final failure, once for each end. It gets those of the
-- run's arguments that it has. Returns its queue when it is ready; an error becomes an event.
create function koken.start_next(p_run_id bigint, p_lease int, p_state text) returns int
language plpgsql as $$
declare
  r record;
  next_job text;
  names text[];
  started record;
begin
  select o.*, w.name as workspace, v.on_success, v.on_failure into r
    from koken.run o
    join koken.job_version v on v.id = o.version_id
    join koken.workspace w on w.id = o.workspace_id
   where o.id = p_run_id;
  next_job := case p_state when 'succeeded' then r.on_success when 'failed' then r.on_failure end;
  if next_job is null then
    return null;
  end if;
  begin
    select v.argument_names into names from koken.version_of(next_job, r.workspace_id) v;
    started := koken.start_run(
      next_job, (
        select coalesce(jsonb_object_agg(a.key, a.value), '{}')
          from jsonb_each(coalesce(r.args, (select l.args from koken.run_args l where l.run_id = r.id))) a
         where names is null or a.key = any(names)),
      r.workspace, null, null, null, null, format('hook:%s:%s', r.id, p_lease), null, r.logical_at, 'run',
      r.id::text, null, null, true, null, null);
    return (select n.queue_id from koken.run n where n.id = started.run_id and n.state = 'ready');
  exception
    when lock_not_available or deadlock_detected or serialization_failure then
      raise;
    when others or query_canceled or assert_failure then
      insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
      values (r.workspace_id, 'follow up failed', 'koken', sqlerrm, r.id, r.job_id,
              jsonb_build_object('job', next_job));
      return null;
  end;
end $$;
