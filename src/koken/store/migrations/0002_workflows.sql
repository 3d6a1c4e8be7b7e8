-- Runs made of runs: steps, items, children. What follows when one of them ends stands here, once.
-- minimum_reader: 1
--
-- The functions plan their statements once a session: with a plan made for each call the planner takes as
-- long as the rest, and the plans are the same, since all go by key.

-- The steps of a job's version, as a run of it needs them when it is opened.
create table koken.step (
  version_id         int not null,
  no                 int not null,               -- from 1, in the order of declaration
  name               text not null,
  queue_id           int not null,
  priority           smallint not null,
  max_attempts       int not null,
  max_infra_attempts int not null,
  need_rule          text not null,
  needs              int not null,               -- how many steps it needs
  frees              int[] not null,             -- steps that need it; negative: they want its result
  lock_key           text,                       -- of the step, or of each of its items
  lock_mode          text,
  lock_limit         int,
  lock_when_held     text,
  of_items           boolean not null,           -- it spreads into one run for each item
  takes_arguments    boolean not null,
  takes              int[],                      -- the steps whose results it takes; null: a list of items among them
  compensates        boolean not null,
  primary key (version_id, no)
);

create index run_cancel on koken.run (id)
  where (cancel_requested_at is not null or settle is not null) and finished_at is null;

-- What a step's rule says of what its needs have come to: go, skip, or nothing yet. One that wants a
-- success and met a failure never gets a verdict: it is not begun, until somebody repairs the failure.
create function koken.rule_says(p_rule text, p_open int, p_good int, p_bad int, p_lost int) returns text
language sql immutable
return case p_rule
  when 'all_succeeded' then case when p_lost > 0 then 'skip' when p_open = 0 and p_bad = 0 then 'go' end
  when 'all_done' then case when p_open = 0 then 'go' end
  when 'any_succeeded' then case when p_good > 0 then 'go' when p_open = 0 and p_bad = 0 then 'skip' end
  when 'any_failed' then case when p_bad > 0 then 'go' when p_open = 0 then 'skip' end
  when 'none_failed' then case when p_open = 0 and p_bad = 0 then 'go' end
end;

-- Why a step was skipped that its rule skips.
create function koken.skipped_because(p_rule text, p_lost_step text) returns jsonb language sql immutable
return jsonb_build_object('type', 'Skip', 'message', case
  when p_lost_step is not null then 'step ' || p_lost_step || ', whose result it wants, was skipped'
  when p_rule = 'any_failed' then 'none of the steps before it failed'
  else 'none of the steps before it succeeded' end);

-- Whether what comes after a part of this parent may go: not when the parent has ended, or is to. Undo steps
-- go one after the other all the same.
create function koken.goes_on(p_parent_id bigint, p_undoes_id bigint) returns boolean language sql stable
return exists (
  select from koken.run p
   where p.id = p_parent_id and p.finished_at is null
     and (p.cancel_requested_at is null and p.settle is null or p_undoes_id is not null));

-- Whether a run cannot end here and now: something below it is not over, or is to be undone.
create function koken.holds_on(r koken.run) returns boolean language sql stable
return coalesce(r.open_children, 0) > 0 or r.unwind is true or r.made > 0 and exists (
  select from koken.run c where c.parent_id = r.id and c.undoes_id is null and c.finished_at is null);

-- In which state a released step stands: in line for its lock, held by its gate, or ready.
create function koken.released_as(p_has_locks boolean, p_not_before timestamptz) returns text
language sql stable
return case when p_has_locks then 'blocked' when p_not_before > koken.now() then 'waiting' else 'ready' end;

-- Puts a step or an item in line for its lock; not before it is released.
create function koken.stand_for_step(
  p_run koken.run, p_step koken.step, p_args jsonb, p_workspace text, p_not_before timestamptz
) returns void language plpgsql as $$
declare
  filled text := koken.fill(p_step.lock_key, p_args, p_workspace, p_run.logical_at);
  found_id bigint;
begin
  insert into koken.lock (workspace_id, kind, key, template, max_holders)
  values (p_run.workspace_id, 'lock', filled, p_step.lock_key, p_step.lock_limit)
  on conflict (workspace_id, kind, key) do nothing;
  select id into found_id from koken.lock
   where workspace_id = p_run.workspace_id and kind = 'lock' and key = filled for key share;
  insert into koken.hold (lock_id, run_id, mode, when_held, rank, not_before)
  values (found_id, p_run.id, p_step.lock_mode, p_step.lock_when_held, p_run.rank, p_not_before)
  on conflict (run_id, lock_id) do nothing;
end $$;

-- What follows the end of runs, in the transaction that ended them: followers are counted down and
-- released or skipped, which may end others; parents learn of it and wake; jobs and moves that hang on
-- the end are carried out. Rows are locked in this order: ended, followers by id, parents by id.
create function koken.after_end(
  p_ids bigint[], out queue_ids int[], out lock_ids bigint[], out ready_ids bigint[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  ended bigint[] := p_ids;
  skipped bigint[];
  in_line bigint[];
  queues int[];
  released_parents bigint[];
  parents bigint[] := '{}';
  deltas int[] := '{}';
  found_parents bigint[];
  found_deltas int[];
  hooked boolean := false;
  ready bigint[];
  woken record;
  items record;
begin
  queue_ids := '{}';
  lock_ids := '{}';
  ready_ids := '{}';
  while cardinality(ended) > 0 loop
    with f as materialized (
      select r.parent_id, abs(x.no) as no, count(*)::int as n,
             count(*) filter (where r.state = 'succeeded')::int as good,
             count(*) filter (where r.state in ('failed', 'cancelled'))::int as bad,
             count(*) filter (where r.state = 'skipped' and x.no < 0)::int as lost,
             min(r.step) filter (where r.state = 'skipped' and x.no < 0) as lost_step
        from koken.run r, unnest(r.frees) x (no)
       where r.id = any(ended) and koken.goes_on(r.parent_id, r.undoes_id) group by 1, 2),
    -- one look on the key for each, whatever the planner thinks of the siblings' number
    k as materialized (
      select f.*, x.id from f, lateral (
        select r.id from koken.run r where r.parent_id = f.parent_id and r.step_no = f.no limit 1) x),
    lk as materialized (
      select r.id, r.need_rule as rule, r.open_needs - k.n as open, r.good_needs + k.good as good,
             r.bad_needs + k.bad as bad, r.lost_needs + k.lost as lost, k.parent_id, k.lost_step
        from k join koken.run r on r.id = k.id
         and case when r.state = 'blocked' then r.open_needs is not null end
       order by r.id for no key update of r),
    said as materialized (
      select lk.*, koken.rule_says(rule, open, good, bad, lost) as verdict from lk),
    w as (
      update koken.run r
         set open_needs = case when s.verdict is null then s.open end, good_needs = s.good,
             bad_needs = s.bad, lost_needs = s.lost,
             settle = case when s.verdict = 'skip' then 'skipped' end,
             error = case when s.verdict = 'skip' then koken.skipped_because(s.rule, s.lost_step) end,
             state = case when s.verdict = 'go' then koken.released_as(r.has_locks, r.not_before_at) else 'blocked' end,
             wait_cause = case when s.verdict = 'go' and not r.has_locks and r.not_before_at > koken.now() then 'gate' end,
             wake_at = case when s.verdict = 'go' and not r.has_locks and r.not_before_at > koken.now() then r.not_before_at end,
             rank = koken.now() + r.priority * interval '60 s'
        from said s where r.id = s.id and case when r.state = 'blocked' then true end
      returning r.id, r.state, r.queue_id, r.parent_id, s.verdict)
    select array_agg(id) filter (where verdict = 'skip'),
           array_agg(id) filter (where verdict = 'go' and state = 'blocked'),
           array_agg(distinct queue_id) filter (where state = 'ready'),
           array_agg(id) filter (where state = 'ready'),
           array_agg(parent_id) filter (where verdict is not null)
      into skipped, in_line, queues, ready, released_parents from w;
    ready_ids := ready_ids || coalesce(ready, '{}');
    queue_ids := queue_ids || coalesce(queues, '{}');
    if in_line is not null then
      with h as (
        update koken.hold set not_before = greatest(koken.now(), r.not_before_at), rank = koken.now()
          from koken.run r where r.id = run_id and run_id = any(in_line) returning lock_id)
      select lock_ids || coalesce(array_agg(lock_id), '{}') into lock_ids from h;
    end if;
    if released_parents is not null then
      parents := parents || released_parents;
      deltas := deltas || array_fill(1, array[cardinality(released_parents)]);
    end if;
    select array_agg(parent_id) filter (where parent_id is not null),
           array_agg(case when open_needs is null then -1 else 0 end) filter (where parent_id is not null),
           hooked or coalesce(bool_or(hooks), false)
      into found_parents, found_deltas, hooked
      from koken.run where id = any(ended);
    parents := parents || coalesce(found_parents, '{}');
    deltas := deltas || coalesce(found_deltas, '{}');
    exit when skipped is null;
    update koken.run set state = 'skipped', settle = null, finished_at = koken.now()
     where id = any(skipped) and state = 'blocked';
    delete from koken.hold where run_id = any(skipped);
    ended := skipped;
  end loop;
  if cardinality(parents) > 0 then
    for woken in
      with d as materialized (
        select parent_id, sum(delta)::int as delta from unnest(parents, deltas) x (parent_id, delta) group by 1),
      b as materialized (
        select parent_id, count(*)::int as bad from koken.run
         where id = any(p_ids) and state in ('failed', 'cancelled') and undoes_id is null group by 1),
      lp as materialized (
        select p.id, d.delta from d join koken.run p on p.id = d.parent_id order by p.id for no key update of p),
      n as materialized (
        select lp.id, lp.delta, coalesce((select b.bad from b where b.parent_id = lp.id), 0) as bad from lp)
      update koken.run p
         set open_children = p.open_children + n.delta, bad_children = coalesce(p.bad_children, 0) + n.bad,
             state = case when koken.wakes(p, n.delta, n.bad) then 'ready' else p.state end,
             wait_cause = case when koken.wakes(p, n.delta, n.bad) then null else p.wait_cause end,
             wait_for = case when koken.wakes(p, n.delta, n.bad) then null else p.wait_for end,
             wake_at = case when koken.wakes(p, n.delta, n.bad) then null else p.wake_at end,
             tolerate_bad = case when koken.wakes(p, n.delta, n.bad) then null else p.tolerate_bad end,
             rank = case when koken.wakes(p, n.delta, n.bad) then koken.now() + p.priority * interval '60 s' else p.rank end
        from n where p.id = n.id
      returning p.id, p.state, p.queue_id, p.at_once, p.released, p.made, p.open_children, p.settle
    loop
      if woken.state = 'ready' then
        queue_ids := queue_ids || woken.queue_id;
        ready_ids := ready_ids || woken.id;
      elsif woken.released < woken.made and woken.settle is null then
        items := koken.release_items(woken.id, woken.released, woken.at_once - woken.open_children);
        queue_ids := queue_ids || items.queue_ids;
        ready_ids := ready_ids || items.ready_ids;
      end if;
    end loop;
  end if;
  if hooked then
    queue_ids := queue_ids || array(select koken.follow_ups(p_ids));
  end if;
end $$;

-- Whether a parent that waits for its children wakes, when so many more are open and so many more ended badly.
create function koken.wakes(p koken.run, p_delta int, p_bad int) returns boolean
language sql immutable
return p.state = 'waiting' and p.wait_cause = 'children' and (
  (p.open_children + p_delta <= p.wake_below
   and (p.at_once is null or p.released >= p.made or p.settle is not null))
  or coalesce(p.bad_children, 0) + p_bad > p.tolerate_bad);

-- Puts items that are let go in line for their lock.
create function koken.line_up(p_parent_id bigint, p_ids bigint[]) returns void language plpgsql as $$
declare
  t koken.step;
  flow_args jsonb;
  workspace text;
  item record;
begin
  select s.* into t from koken.run p join koken.step s on s.version_id = p.version_id and s.no = p.step_no
   where p.id = p_parent_id;
  select w.name, coalesce(f.args, (select a.args from koken.run_args a where a.run_id = f.id)) into workspace, flow_args
    from koken.run p join koken.run f on f.id = p.parent_id join koken.workspace w on w.id = p.workspace_id
   where p.id = p_parent_id;
  for item in select c as run, c.args from koken.run c where c.id = any(p_ids) loop
    perform koken.stand_for_step(item.run, t, flow_args || item.args, workspace, koken.now());
  end loop;
  update koken.hold set not_before = koken.now() where run_id = any(p_ids) and not_before > koken.now();
end $$;

-- Lets the next items of a step go, so many. A step that has none left, and none open, is through.
create function koken.release_items(
  p_id bigint, p_last int, p_room int, out queue_ids int[], out ready_ids bigint[]
) language plpgsql as $$
declare
  in_line bigint[];
  last_no int;
  n int;
  through koken.run;
begin
  queue_ids := '{}';
  ready_ids := '{}';
  if p_room <= 0 then
    return;
  end if;
  with w as (
    update koken.run r set open_needs = null, state = koken.released_as(r.has_locks, null),
           rank = koken.now() + r.priority * interval '60 s'
     where r.id in (
       select i.id from koken.run i
        where i.parent_id = p_id and i.step_no > p_last and i.undoes_id is null
          and case when i.state = 'blocked' then i.open_needs is not null end
        order by i.step_no limit p_room)
       and r.state = 'blocked'
    returning r.queue_id, r.step_no, r.state, r.id)
  select coalesce(array_agg(distinct queue_id) filter (where state = 'ready'), '{}'),
         coalesce(array_agg(id) filter (where state = 'ready'), '{}'),
         array_agg(id) filter (where state = 'blocked'), max(step_no), count(*)
    into queue_ids, ready_ids, in_line, last_no, n from w;
  if in_line is not null then
    perform koken.line_up(p_id, in_line);
  end if;
  update koken.run
     set released = case when n < p_room then made else last_no end, open_children = open_children + n
   where id = p_id;
  update koken.run
     set state = 'ready', wait_cause = null, wait_for = null, wake_at = null
   where id = p_id and state = 'waiting' and wait_cause = 'children' and open_children = 0 and released >= made
  returning * into through;
  if through.state = 'ready' then
    queue_ids := queue_ids || through.queue_id;
    ready_ids := ready_ids || through.id;
  end if;
end $$;

-- Opens a run of steps: its steps come into being, those that need nothing are released, and it waits for
-- them. The gates are decided by the caller, who knows calendars. Nothing happens under another lease.
create function koken.open_run(
  p_run_id bigint, p_lease int, p_gate_nos int[], p_gate_skips text[], p_not_before timestamptz[],
  p_closes timestamptz[], p_late_skips boolean[], p_fail_fast boolean, p_queue_ids int[], p_room int,
  out state text, out queue_ids int[], out lock_ids bigint[], out taken json
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  r koken.run;
  s record;
  args jsonb;
  workspace text;
  skips bigint[];
  ready bigint[];
  followed record;
  active int;
begin
  queue_ids := '{}';
  lock_ids := '{}';
  select * into r from koken.run where id = p_run_id and lease = p_lease
     and case when koken.run.state = 'running' then true end and cancel_requested_at is null for no key update;
  if not found then
    return;
  end if;
  with g as materialized (
    select * from unnest(p_gate_nos, p_gate_skips, p_not_before, p_closes, p_late_skips)
      as t (no, skip, not_before, closes, late_skips)),
  born as (
    insert into koken.run (
      workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, wait_cause,
      wake_at, start_deadline_at, priority, rank, max_attempts, max_infra_attempts, has_locks, error,
      trigger_kind, trigger_by, subject, logical_at, created_at, need_rule, open_needs, good_needs,
      bad_needs, lost_needs, frees, not_before_at, late_skips)
    select r.workspace_id, r.job_id, r.version_id, t.queue_id, r.id, coalesce(r.root_id, r.id), t.no, t.name,
           case when t.needs > 0 or g.skip is not null then 'blocked'
                else koken.released_as(t.lock_key is not null and not t.of_items, g.not_before) end,
           case when t.needs = 0 and g.skip is null and (t.lock_key is null or t.of_items)
                 and g.not_before > koken.now() then 'gate' end,
           case when t.needs = 0 and g.skip is null and (t.lock_key is null or t.of_items)
                 and g.not_before > koken.now() then g.not_before end,
           g.closes, t.priority, koken.now() + t.priority * interval '60 s', t.max_attempts,
           t.max_infra_attempts, t.lock_key is not null and not t.of_items,
           case when g.skip is not null then jsonb_build_object('type', 'Skip', 'message', g.skip) end,
           'run', r.id::text, r.subject, r.logical_at, koken.now(), t.need_rule,
           case when t.needs > 0 or g.skip is not null then t.needs end, 0, 0, 0, t.frees, g.not_before, g.late_skips
      from koken.step t left join g on g.no = t.no
     where t.version_id = r.version_id
    returning id, step_no, queue_id, koken.run.state, open_needs, error is not null as skip)
  select array_agg(id) filter (where skip), array_agg(distinct queue_id) filter (where born.state = 'ready'),
         array_agg(id) filter (where born.state = 'ready'), count(*) filter (where open_needs is null)
    into skips, queue_ids, ready, active from born;
  queue_ids := coalesce(queue_ids, '{}');
  if exists (select from koken.step t where t.version_id = r.version_id and t.lock_key is not null and not t.of_items) then
    select coalesce(r.args, (select a.args from koken.run_args a where a.run_id = r.id)), w.name
      into args, workspace from koken.workspace w where w.id = r.workspace_id;
    for s in
      select t as step, c as run from koken.step t join koken.run c on c.parent_id = r.id and c.step_no = t.no
       where t.version_id = r.version_id and t.lock_key is not null and not t.of_items
    loop
      perform koken.stand_for_step(s.run, s.step, args, workspace,
        case when (s.run).open_needs is null then greatest(koken.now(), (s.run).not_before_at) else 'infinity' end);
    end loop;
    select coalesce(array_agg(distinct h.lock_id), '{}') into lock_ids
      from koken.hold h join koken.run c on c.id = h.run_id
     where c.parent_id = r.id and c.open_needs is null;
  end if;
  update koken.run u
     set state = case when active = 0 and skips is null then 'ready' else 'waiting' end,
         wait_cause = case when active = 0 and skips is null then null else 'children' end,
         made = (select count(*) from koken.step t where t.version_id = r.version_id),
         open_children = active, bad_children = 0, wake_below = 0, attempt = attempt - 1,
         tolerate_bad = case when p_fail_fast then 0 end,
         unwind = nullif(coalesce(unwind, false) or exists (
           select from koken.step t where t.version_id = r.version_id and t.compensates), false)
   where u.id = r.id and case when u.state = 'running' then true end
  returning u.state into state;
  if skips is not null then
    update koken.run u set state = 'skipped', finished_at = koken.now(), open_needs = null
     where u.id = any(skips) and u.state = 'blocked';
    update koken.run u set open_children = open_children + cardinality(skips) where u.id = r.id;
    followed := koken.after_end(skips);
    queue_ids := queue_ids || followed.queue_ids;
    lock_ids := lock_ids || followed.lock_ids;
    ready := ready || followed.ready_ids;
    select u.state into state from koken.run u where u.id = r.id;
  end if;
  taken := koken.take_ready(ready, r.worker_id, p_queue_ids, p_room);
  if json_array_length(taken) = cardinality(ready) then
    queue_ids := '{}';
  elsif taken is not null then
    select coalesce(array_agg(distinct c.queue_id), '{}') into queue_ids
      from koken.run c where c.id = any(ready) and case when c.state = 'ready' then true end;
  end if;
end $$;

-- The list that a step returned, or whose items did, or that an argument of the workflow is.
create function koken.items_of(p_flow_id bigint, p_step_no int, p_argument text) returns jsonb
language sql stable as $$
  select case
    when p_step_no is null then (
      select coalesce(f.args, (select a.args from koken.run_args a where a.run_id = f.id)) -> p_argument
        from koken.run f where f.id = p_flow_id)
    when s.at_once is null or jsonb_typeof(s.result) = 'array' then s.result
    else (
      select coalesce(jsonb_agg(i.result order by i.step_no), '[]') from koken.run i
       where i.parent_id = s.id and i.state = 'succeeded' and i.undoes_id is null) end
    from (select 1) one left join koken.run s on s.parent_id = p_flow_id and s.step_no = p_step_no
$$;

-- Spreads a step into one run for each item of a list, of which p_at_once go together.
create function koken.spread_run(
  p_run_id bigint, p_lease int, p_flow_id bigint, p_parameter text, p_step_no int, p_argument text,
  p_at_once int, p_tolerate int, out state text, out queue_ids int[], out lock_ids bigint[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  r koken.run;
  t koken.step;
  items jsonb := koken.items_of(p_flow_id, p_step_no, p_argument);
  total int := jsonb_array_length(items);
  first int;
begin
  lock_ids := '{}';
  select * into r from koken.run where id = p_run_id and lease = p_lease
     and case when koken.run.state = 'running' then true end and cancel_requested_at is null for no key update;
  if not found then
    return;
  end if;
  select * into t from koken.step where version_id = r.version_id and no = r.step_no;
  -- those that stand in line for locks do so in bounded numbers
  first := least(coalesce(p_at_once, case when t.lock_key is not null then 1000 end, total), total);
  with born as (
    insert into koken.run (
      workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, priority, rank,
      max_attempts, max_infra_attempts, has_locks, args, trigger_kind, trigger_by, subject, logical_at,
      created_at, open_needs)
    select r.workspace_id, r.job_id, r.version_id, r.queue_id, r.id, r.root_id, x.no, r.step,
           case when x.no > first then 'blocked' else koken.released_as(t.lock_key is not null, null) end,
           r.priority, koken.now() + r.priority * interval '60 s', t.max_attempts, r.max_infra_attempts,
           t.lock_key is not null, jsonb_build_object(p_parameter, x.item), 'run', r.id::text, r.subject,
           r.logical_at, koken.now(), case when x.no > first then 1 end
      from jsonb_array_elements(items) with ordinality x (item, no)
    returning id, koken.run.state)
  select case when exists (select from born where born.state = 'ready') then array[r.queue_id] else '{}' end
    into queue_ids;
  if t.lock_key is not null then
    perform koken.line_up(r.id, array(
      select c.id from koken.run c where c.parent_id = r.id and c.open_needs is null));
    select coalesce(array_agg(distinct h.lock_id), '{}') into lock_ids
      from koken.hold h join koken.run c on c.id = h.run_id where c.parent_id = r.id;
  end if;
  update koken.run u
     set state = 'waiting', wait_cause = 'children', made = total, open_children = first, bad_children = 0,
         wake_below = 0, at_once = coalesce(p_at_once, greatest(first, 1)), released = first,
         attempt = attempt - 1, tolerate_bad = p_tolerate
   where u.id = r.id and case when u.state = 'running' then true end
  returning u.state into state;
end $$;

-- Counts the needs of all steps that are not begun anew, from how the others stand, and lets go what
-- may. For a parent that waits for its children, after a person changed how one of them stands.
create function koken.recount(p_id bigint, out state text, out queue_ids int[], out lock_ids bigint[])
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  followed record;
  items record;
  skips bigint[];
begin
  perform from koken.run c where c.parent_id = p_id and c.state = 'blocked' order by c.id for no key update;
  perform from koken.run p where p.id = p_id for no key update;
  with counted as materialized (
    select abs(x.no) as no, count(*)::int as needs,
           count(*) filter (where c.finished_at is not null)::int as done,
           count(*) filter (where c.state = 'succeeded')::int as good,
           count(*) filter (where c.state in ('failed', 'cancelled'))::int as bad,
           count(*) filter (where c.state = 'skipped' and x.no < 0)::int as lost,
           min(c.step) filter (where c.state = 'skipped' and x.no < 0) as lost_step
      from koken.run c, unnest(c.frees) x (no) where c.parent_id = p_id group by 1),
  fresh as materialized (
    select c.id, coalesce(n.needs - n.done, 0) as open, coalesce(n.good, 0) as good, coalesce(n.bad, 0) as bad,
           coalesce(n.lost, 0) as lost,
           c.need_rule as rule, n.lost_step, case when n.no is null then 'go'
                else koken.rule_says(c.need_rule, n.needs - n.done, n.good, n.bad, n.lost) end as verdict
      from koken.run c left join counted n on n.no = c.step_no
     where c.parent_id = p_id and c.state = 'blocked' and c.open_needs is not null and c.need_rule is not null),
  w as (
    update koken.run c
       set open_needs = case when f.verdict is null then f.open end, good_needs = f.good, bad_needs = f.bad,
           lost_needs = f.lost,
           error = case when f.verdict = 'skip' then koken.skipped_because(f.rule, f.lost_step) end,
           state = case when f.verdict = 'go' then koken.released_as(c.has_locks, c.not_before_at) else 'blocked' end,
           wait_cause = case when f.verdict = 'go' and not c.has_locks and c.not_before_at > koken.now() then 'gate' end,
           wake_at = case when f.verdict = 'go' and not c.has_locks and c.not_before_at > koken.now() then c.not_before_at end,
           rank = koken.now() + c.priority * interval '60 s'
      from fresh f where c.id = f.id and c.state = 'blocked'
    returning c.id, c.queue_id, c.state, f.verdict)
  select coalesce(array_agg(distinct queue_id) filter (where w.state = 'ready'), '{}'),
         array_agg(id) filter (where verdict = 'skip')
    into queue_ids, skips from w;
  with h as (
    update koken.hold set not_before = greatest(koken.now(), c.not_before_at) from koken.run c
     where hold.run_id = c.id and c.parent_id = p_id and c.state = 'blocked' and c.open_needs is null
       and hold.granted_at is null
    returning hold.lock_id)
  select coalesce(array_agg(distinct lock_id), '{}') into lock_ids from h;
  update koken.run u
     set open_children = s.open, bad_children = s.bad,
         released = case when at_once is not null then coalesce(s.first_blocked - 1, made) end,
         state = case when u.state = 'waiting' and u.wait_cause = 'children' and s.open = 0
                       and (u.at_once is null or s.first_blocked is null) then 'ready' else u.state end,
         wait_cause = case when u.state = 'waiting' and u.wait_cause = 'children' and s.open = 0
                       and (u.at_once is null or s.first_blocked is null) then null else u.wait_cause end
    from (select count(*) filter (where c.finished_at is null and (c.open_needs is null or c.id = any(skips))) as open,
                 count(*) filter (where c.state in ('failed', 'cancelled') and c.undoes_id is null) as bad,
                 min(c.step_no) filter (where c.state = 'blocked' and c.open_needs is not null
                                          and c.need_rule is null and c.undoes_id is null) as first_blocked
            from koken.run c where c.parent_id = p_id) s
   where u.id = p_id;
  if skips is not null then
    update koken.run c set state = 'skipped', finished_at = koken.now(), open_needs = null
     where c.id = any(skips) and c.state = 'blocked';
    followed := koken.after_end(skips);
    queue_ids := queue_ids || followed.queue_ids;
    lock_ids := lock_ids || followed.lock_ids;
  end if;
  for items in
    select i.queue_ids
      from koken.run u, koken.release_items(u.id, u.released, u.at_once - u.open_children) i
     where u.id = p_id and u.at_once is not null and u.released < u.made
  loop
    queue_ids := queue_ids || items.queue_ids;
  end loop;
  select u.state, recount.queue_ids || case when u.state = 'ready' then array[u.queue_id] else '{}' end
    into recount.state, recount.queue_ids from koken.run u where u.id = p_id;
end $$;

-- Parks a parent that a person has set going again; its steps go on from where they stand.
create function koken.reopen_run(
  p_run_id bigint, p_lease int, p_fail_fast boolean, out state text, out queue_ids int[], out lock_ids bigint[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare counted record;
begin
  update koken.run u
     set state = 'waiting', wait_cause = 'children', wake_below = 0, attempt = attempt - 1
   where u.id = p_run_id and u.lease = p_lease and case when u.state = 'running' then true end;
  if not found then
    return;
  end if;
  counted := koken.recount(p_run_id);
  if p_fail_fast then
    -- what was bad before and was left so does not stop the others again
    update koken.run set tolerate_bad = bad_children where id = p_run_id;
  end if;
  state := counted.state;
  queue_ids := counted.queue_ids;
  lock_ids := counted.lock_ids;
end $$;

-- What a run is a part of, or is made of; null for a plain one, of which nobody needs to know more.
create function koken.part_of(r koken.run) returns json language sql stable
return case when r.parent_id is not null or r.made is not null or r.hooks or r.unwind or r.settle is not null
                 or r.cancel_requested_at is not null then
  json_build_object(
    'parent_id', r.parent_id, 'step_no', r.step_no, 'step', r.step, 'is_step', r.need_rule is not null,
    'undoes_id', r.undoes_id, 'made', r.made, 'reopens', r.wake_below is null, 'settle', r.settle,
    'unwind', r.unwind is true, 'cancelling', r.cancel_requested_at is not null, 'hooks', r.hooks is true,
    'grandparent_id', (select p.parent_id from koken.run p where p.id = r.parent_id))
end;

-- Hands runs that have just become ready to the worker that made them so, as a claim would, and with what
-- steps are given. Only in queues without a limit, as many as it has room for.
create function koken.take_ready(p_ids bigint[], p_worker_id int, p_queue_ids int[], p_room int) returns json
language plpgsql as $$
declare taken json;
begin
  if coalesce(p_room, 0) <= 0 or cardinality(p_ids) = 0 then
    return null;
  end if;
  with c as materialized (
    select r.id from koken.run r
     where r.id = any(p_ids) and r.queue_id = any(p_queue_ids) and case when r.state = 'ready' then true end and exists (
       select from koken.queue q
        where q.id = r.queue_id and q.paused_at is null and q.max_running is null and q.rate is null)
     order by r.id limit p_room),
  t as (
    update koken.run r
       set state = 'running', lease = r.lease + 1, attempt = r.attempt + 1, worker_id = p_worker_id,
           started_at = coalesce(r.started_at, koken.now()), claimed_at = koken.now(), start_deadline_at = null
      from c where r.id = c.id and case when r.state = 'ready' then true end
       and exists (select from koken.worker w where w.id = p_worker_id and w.lost_at is null)
    returning r.*)
  select json_agg(json_build_object(
    'id', t.id, 'lease', t.lease, 'attempt', t.attempt, 'max_attempts', t.max_attempts,
    'infra_attempt', t.infra_attempt, 'max_infra_attempts', t.max_infra_attempts, 'job_id', t.job_id,
    'workspace_id', t.workspace_id, 'queue_id', t.queue_id, 'root_id', t.root_id, 'rank', t.rank,
    'priority', t.priority, 'subject', t.subject, 'trigger_kind', t.trigger_kind, 'trigger_by', t.trigger_by,
    'schedule_id', t.schedule_id, 'since_at', t.since_at, 'logical_at', t.logical_at, 'overlap', t.overlap,
    'overlap_key', t.overlap_key, 'seconds_left', extract(epoch from t.deadline_at - koken.now()),
    'args', coalesce(t.args, (select a.args from koken.run_args a where a.run_id = t.id), '{}')::text,
    'version_id', t.version_id, 'part', koken.part_of(t),
    'given', case when t.need_rule is not null and t.undoes_id is null then (
      select json_build_object(
        'arguments', case when s.takes_arguments then (
          select coalesce(f.args, (select a.args from koken.run_args a where a.run_id = f.id)) from koken.run f
           where f.id = t.parent_id) end,
        'results', (
          select json_object_agg(i.step, i.result) from unnest(s.takes) x (no), lateral (
            select c.step, c.result from koken.run c
             where c.parent_id = t.parent_id and c.step_no = x.no and c.state = 'succeeded'
               and c.result is not null limit 1) i))
        from koken.step s where s.version_id = t.version_id and s.no = t.step_no and s.takes is not null) end))
    into taken from t;
  return taken;
end $$;

-- Ends, parks or hands back runs that are part of something, each only under its own lease. A run with
-- open children is parked until they are through, and ends then (settle). What somebody wants cancelled is
-- not parked, but ends, or goes to a worker that cleans up after it.
create function koken.finish_parts(
  p_ids bigint[], p_leases int[], p_states text[], p_causes text[], p_delays float8[], p_spent text[],
  p_results text[], p_errors text[], p_outcomes text[], p_wait_for text[], p_wake_below int[],
  p_unwind boolean[], p_settle text[], p_worker_id int, p_queue_ids int[], p_room int,
  out ids bigint[], out states text[], out queue_ids int[], out lock_ids bigint[], out stopping bigint[],
  out taken json
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  ended bigint[];
  parked bigint[];
  freed bigint[];
  followed record;
begin
  with d as materialized (
    select * from unnest(p_ids, p_leases, p_states, p_causes, p_delays, p_spent, p_results, p_errors,
                         p_outcomes, p_wait_for, p_wake_below, p_unwind, p_settle)
      as t (id, lease, state, cause, delay, spent, result, error, outcome, wait_for, wake_below, unwind, settle)),
  b as materialized (
    select r.id, d.lease, d.cause, d.delay, d.spent, d.result, d.error, d.outcome, d.wait_for, d.wake_below, d.unwind,
           d.settle, d.state as said,
           case when d.state in ('waiting', 'ready') and r.cancel_requested_at is not null then
                  case when coalesce(r.open_children, 0) > 0 then 'waiting' when r.unwind or d.unwind then 'ready' else 'cancelled' end
                when d.state not in ('waiting', 'ready') and coalesce(r.open_children, 0) > 0 then 'waiting'
                when d.state = 'waiting' and d.cause = 'children'
                 and (coalesce(r.open_children, 0) <= d.wake_below or r.wake_below < 0) then 'ready'
                else d.state end as state,
           r.cancel_requested_at is not null as cancelling
      from d join koken.run r on r.id = d.id and r.lease = d.lease
       and case when r.state = 'running' then true end
     order by r.id for no key update of r),
  u as (
    update koken.run r
       set state = b.state,
           wait_cause = case when b.state = 'waiting' then
             case when b.said = 'waiting' and not b.cancelling then b.cause else 'children' end end,
           wait_for = case when b.state = 'waiting' and b.said = 'waiting' and not b.cancelling then b.wait_for end,
           wake_at = case when b.state = 'waiting' and b.said = 'waiting' and not b.cancelling
                          then koken.now() + make_interval(secs => b.delay) end,
           wake_below = case when b.state = 'waiting' and b.said = 'waiting' and not b.cancelling
                             then case when b.cause = 'children' then b.wake_below else r.wake_below end
                             when b.state = 'waiting' then 0 when r.wake_below < 0 then 0 else r.wake_below end,
           settle = case when b.settle is not null then b.settle
                         when b.state in ('waiting', 'ready') and b.cancelling then coalesce(r.settle, 'cancelled')
                         when b.state = 'waiting' and b.said <> 'waiting' then b.said else r.settle end,
           finished_at = case when b.state in ('waiting', 'ready') then null else koken.now() end,
           attempt = case when b.spent = 'attempt' and (b.state <> 'waiting' or b.said = 'waiting') then r.attempt
                          else r.attempt - 1 end,
           infra_attempt = case when b.spent = 'infra' then r.infra_attempt + 1 else r.infra_attempt end,
           rank = case when b.state = 'ready' then koken.now() + r.priority * interval '60 s' else r.rank end,
           result = coalesce(b.result::jsonb, r.result),
           unwind = nullif(coalesce(r.unwind, false) or b.unwind, false),
           error = case when b.cancelling and b.state in ('waiting', 'ready', 'cancelled') then coalesce(r.error, b.error::jsonb)
                        when r.settle is not null and b.state in ('waiting', 'ready') then coalesce(r.error, b.error::jsonb)
                        else b.error::jsonb end
      from b where r.id = b.id and case when r.state = 'running' then true end
    returning r.id, r.state, r.queue_id, r.has_locks, r.attempt as attempts, r.worker_id, r.claimed_at,
              b.lease, b.outcome, b.error, r.wait_cause, r.parent_id, r.hooks, r.settle),
  a as (
    insert into koken.attempt (run_id, lease, attempt, worker_id, started_at, ended_at, outcome, error)
    select id, lease, attempts, worker_id, claimed_at, koken.now(), outcome, error::jsonb
      from u where outcome not in ('succeeded', 'parked')),
  h as (
    delete from koken.hold using u
     where hold.run_id = u.id and u.has_locks and u.state not in ('waiting', 'ready')
    returning hold.lock_id)
  select array_agg(u.id), array_agg(u.state), array_agg(distinct u.queue_id) filter (where u.state = 'ready'),
         array_agg(u.id) filter (where u.state not in ('waiting', 'ready') and (u.parent_id is not null or u.hooks)),
         array_agg(u.id) filter (where u.state = 'waiting' and u.wait_cause in ('signal', 'question')),
         array_agg(u.id) filter (where u.state = 'waiting' and u.settle in ('failed', 'cancelled')),
         (select array_agg(distinct lock_id) from h)
    into ids, states, queue_ids, ended, parked, stopping, freed from u;
  queue_ids := coalesce(queue_ids, '{}');
  lock_ids := coalesce(freed, '{}');
  if parked is not null then
    -- in a statement of its own, which sees what came while we parked
    with found as (
      update koken.run r set state = 'ready', wait_cause = null, wait_for = null, wake_at = null
       where r.id = any(parked) and r.state = 'waiting' and koken.is_there(r.id, r.wait_cause, r.wait_for)
      returning r.queue_id)
    select queue_ids || coalesce(array_agg(queue_id), '{}') into queue_ids from found;
  end if;
  if ended is not null then
    followed := koken.after_end(ended);
    lock_ids := lock_ids || followed.lock_ids;
    taken := koken.take_ready(followed.ready_ids, p_worker_id, p_queue_ids, p_room);
    if taken is null then
      queue_ids := queue_ids || followed.queue_ids;
    elsif json_array_length(taken) < cardinality(followed.ready_ids) then
      -- workers of other queues are told, and of those in which something was left over
      select queue_ids || coalesce(array_agg(distinct r.queue_id), '{}') into queue_ids
        from koken.run r where r.id = any(followed.ready_ids) and case when r.state = 'ready' then true end;
    end if;
  end if;
end $$;

-- Tells live runs that they are to end, and lets those go to a worker that wait for what does not come any
-- more: it cleans up and ends them. One that stood in line for a lock needs none to end.
create function koken.ask_to_end(
  p_ids bigint[], p_said jsonb, out queue_ids int[], out lock_ids bigint[]
) language plpgsql as $$
declare
  asked int[];
  left_line bigint[];
begin
  with mine as materialized (
    select r.id, r.state as was from koken.run r
     where r.id = any(p_ids) and r.finished_at is null order by r.id for no key update),
  u as (
    update koken.run r
       set cancel_requested_at = coalesce(r.cancel_requested_at, koken.now()),
           error = case when r.cancel_requested_at is null and coalesce(r.settle, 'succeeded') = 'succeeded'
                        then p_said else coalesce(r.error, p_said) end,
           settle = case when mine.was = 'running' then r.settle when r.settle = 'failed' then 'failed'
                         else 'cancelled' end,
           state = case when mine.was in ('running', 'ready') then r.state
                        when coalesce(r.open_children, 0) > 0 then 'waiting' else 'ready' end,
           wait_cause = case when mine.was in ('waiting', 'blocked') and r.open_children > 0 then 'children' end,
           wait_for = case when r.wait_for = 'undo' then r.wait_for end,
           wake_at = null,
           wake_below = case when mine.was = 'running' then r.wake_below else 0 end,
           start_deadline_at = null
      from mine where r.id = mine.id and r.state in ('blocked', 'ready', 'running', 'waiting')
    returning r.id, r.queue_id, r.worker_id, r.state, mine.was)
  select array_agg(distinct worker_id) filter (where was = 'running'),
         coalesce(array_agg(distinct queue_id) filter (where was <> 'running' and state = 'ready'), '{}'),
         array_agg(id) filter (where was = 'blocked')
    into asked, queue_ids, left_line from u;
  perform pg_notify('koken', 'cancel ' || w) from unnest(asked) w;
  with h as (delete from koken.hold where run_id = any(left_line) returning lock_id)
  select coalesce(array_agg(lock_id), '{}') into lock_ids from h;
end $$;

-- Ends live runs that no worker carries and that hold nothing on.
create function koken.end_cancelled(
  p_ids bigint[], p_said jsonb, out queue_ids int[], out lock_ids bigint[]
) language plpgsql as $$
declare
  ended bigint[];
  followed record;
begin
  queue_ids := '{}';
  lock_ids := '{}';
  with gone as (
    update koken.run r
       set state = 'cancelled', finished_at = koken.now(), cancel_requested_at = koken.now(), error = p_said,
           wait_cause = null, wait_for = null, wake_at = null
     where r.id = any(p_ids) and r.state in ('blocked', 'ready', 'waiting')
    returning r.id)
  select array_agg(id) into ended from gone;
  if ended is null then
    return;
  end if;
  with h as (delete from koken.hold where run_id = any(ended) returning lock_id)
  select coalesce(array_agg(lock_id), '{}') into lock_ids from h;
  followed := koken.after_end(ended);
  queue_ids := followed.queue_ids;
  lock_ids := lock_ids || followed.lock_ids;
end $$;

-- Asks one run to end: at once where no worker carries it and there is nothing below it or to clean up;
-- else it is told, and those who carry it or what is below it do so. Says what came of it: ended, asked, or
-- over when it had ended before, or was not begun when its workflow ended.
create function koken.cancel_run(
  p_id bigint, p_by text, p_reason text, out verdict text, out queue_ids int[], out lock_ids bigint[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  r koken.run;
  said jsonb := jsonb_build_object(
    'type', 'Cancel', 'message', coalesce(p_reason, 'cancelled by ' || p_by), 'by', p_by);
  done record;
begin
  queue_ids := '{}';
  lock_ids := '{}';
  select * into r from koken.run where id = p_id for no key update;
  if not found or r.finished_at is not null or exists (
    select from koken.run p where p.id = r.parent_id and p.finished_at is not null) then
    verdict := 'over';
    return;
  end if;
  if r.state = 'running' or koken.holds_on(r) then
    verdict := 'asked';
    done := koken.ask_to_end(array[r.id], said);
  else
    verdict := 'ended';
    done := koken.end_cancelled(array[r.id], said);
  end if;
  queue_ids := done.queue_ids;
  lock_ids := done.lock_ids;
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id)
  values (r.workspace_id, 'cancel', p_by, p_reason, r.id, r.job_id);
end $$;

-- One pass over the children of parents that are to end: what no worker carries ends, what runs is asked.
-- Rows in somebody's hands are passed by; unasked says how many a further pass has to look at again.
-- below_ids are children that have something below them: the next level. Steps with one of the rules
-- p_spared are left alone.
create function koken.cancel_children(
  p_ids bigint[], p_reason text, p_spared text[],
  out unasked int, out below_ids bigint[], out queue_ids int[], out lock_ids bigint[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  free bigint[];
  held bigint[];
  done record;
  said jsonb := jsonb_build_object('type', 'Cancel', 'message', p_reason);
  woken int[];
begin
  queue_ids := '{}';
  lock_ids := '{}';
  with mine as materialized (
    select c.* from koken.run c
     where c.parent_id = any(p_ids) and c.undoes_id is null and c.finished_at is null
       and c.cancel_requested_at is null and (c.need_rule = any(p_spared)) is not true
     order by c.id for no key update skip locked)
  select array_agg(m.id) filter (where m.state <> 'running' and not koken.holds_on(m)),
         array_agg(m.id) filter (where m.state = 'running' or koken.holds_on(m))
    into free, held from mine m;
  if held is not null then
    done := koken.ask_to_end(held, said);
    queue_ids := queue_ids || done.queue_ids;
    lock_ids := lock_ids || done.lock_ids;
  end if;
  if free is not null then
    done := koken.end_cancelled(free, said);
    queue_ids := queue_ids || done.queue_ids;
    lock_ids := lock_ids || done.lock_ids;
  end if;
  -- no further item is let go; a step whose last open one has just ended is through
  with p as (
    update koken.run set released = made
     where id = any(p_ids) and released < made and finished_at is null returning id),
  w as (
    select r.id from p join koken.run r on r.id = p.id
     where r.state = 'waiting' and r.wait_cause = 'children' and r.open_children <= r.wake_below)
  select array_agg(id) into free from w;
  if free is not null then
    with w as (
      update koken.run set state = 'ready', wait_cause = null, wait_for = null, wake_at = null
       where id = any(free) and state = 'waiting' returning queue_id)
    select array_agg(queue_id) into woken from w;
    queue_ids := queue_ids || coalesce(woken, '{}');
  end if;
  select count(*) filter (where c.cancel_requested_at is null and (c.need_rule = any(p_spared)) is not true),
         coalesce(array_agg(c.id) filter (where c.cancel_requested_at is not null and c.made > 0), '{}')
    into unasked, below_ids
    from koken.run c
   where c.parent_id = any(p_ids) and c.undoes_id is null and c.finished_at is null;
end $$;

-- Brings the undo steps of a run into being, one after the other in this order, and parks it until they
-- are through; it ends as p_settle then. p_of are the runs whose work they undo.
create function koken.undo_run(
  p_run_id bigint, p_lease int, p_settle text, p_error jsonb, p_names text[], p_of bigint[], p_max_attempts int[],
  out state text, out queue_ids int[]
) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  r koken.run;
  base int;
  n int := cardinality(p_names);
begin
  select * into r from koken.run where id = p_run_id and lease = p_lease and case when koken.run.state = 'running' then true end for no key update;
  if not found then
    return;
  end if;
  select greatest(coalesce(max(step_no), 0), 1000000) into base from koken.run where parent_id = r.id;
  insert into koken.run (
    workspace_id, job_id, version_id, queue_id, parent_id, root_id, step_no, step, state, priority, rank,
    max_attempts, max_infra_attempts, trigger_kind, trigger_by, subject, logical_at, created_at, args,
    need_rule, open_needs, good_needs, bad_needs, lost_needs, frees, undoes_id)
  select r.workspace_id, r.job_id, r.version_id, r.queue_id, r.id, coalesce(r.root_id, r.id), base + u.no,
         'undo ' || u.name, case when u.no = 1 then 'ready' else 'blocked' end, r.priority, koken.now(),
         u.max_attempts, r.max_infra_attempts, 'run', r.id::text, r.subject, r.logical_at, koken.now(), '{}',
         'all_done', case when u.no > 1 then 1 end, 0, 0, 0,
         case when u.no < n then array[base + u.no::int + 1] end, u.of
    from unnest(p_names, p_of, p_max_attempts) with ordinality u (name, of, max_attempts, no);
  update koken.run u
     set state = 'waiting', wait_cause = 'children', wait_for = 'undo', settle = p_settle,
         error = coalesce(p_error, u.error), made = coalesce(u.made, 0) + n, attempt = u.attempt - 1,
         open_children = coalesce(u.open_children, 0) + 1, wake_below = 0, tolerate_bad = null, unwind = null,
         wake_at = null
   where u.id = r.id and case when u.state = 'running' then true end
  returning u.state into state;
  queue_ids := array[r.queue_id];
end $$;

-- Counts misses that are borne as skipped.
create function koken.forgive(p_id bigint) returns int language plpgsql as $$
declare n int;
begin
  update koken.run c set state = 'skipped', acknowledged_at = koken.now()
   where c.parent_id = p_id and c.state = 'failed' and c.undoes_id is null;
  get diagnostics n = row_count;
  return n;
end $$;
