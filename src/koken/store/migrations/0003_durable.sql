-- What durable functions stand on: waits, signals, questions, and work elsewhere.
-- minimum_reader: 1

alter table koken.checkpoint
  add column ordinal int,                        -- its place in the body; null: not compared, 0: past an error
  add column undo boolean;                       -- something undoes it

-- Signals wait for their run in order, and each is taken once.
create table koken.signal (
  id      bigint generated always as identity primary key,
  run_id  bigint not null,
  name    text not null,
  value   jsonb not null,
  by      text not null,
  at      timestamptz not null default koken.now(),
  taken_by text,                                 -- the key of the wait that took it
  refused  text                                  -- why that wait has passed it by
);
create index signal_waiting on koken.signal (run_id, name, id) where taken_by is null;
create index signal_run on koken.signal (run_id);

-- Questions to people; key is that of the wait.
create table koken.question (
  run_id      bigint not null,
  key         text not null,
  text        text not null,
  for_whom    text not null default '',
  reason      text not null default '',          -- why it is asked again
  schema      jsonb not null,
  asked_at    timestamptz not null default koken.now(),
  until_at    timestamptz,
  answer      jsonb,
  answered_by text,
  answered_at timestamptz,
  closed_at   timestamptz,                       -- nobody waits for it any more
  primary key (run_id, key)
);

-- One line for each item of a map and for each operation elsewhere. key is the step, no the item.
create table koken.ledger (
  run_id       bigint not null,
  key          text not null,
  no           int not null,
  state        text not null
    check (state in ('created', 'submitted', 'done', 'failed', 'skipped', 'cancelled')),
  item         jsonb,
  handle       jsonb,
  submits      int not null default 0,
  submitted_at timestamptz,
  error        text,
  updated_at   timestamptz not null default koken.now(),
  primary key (run_id, key, no)
);

-- Whether what a run begins to wait for is there already. The parker asks when the run is moved and
-- its row locked, in a statement of its own; whoever delivers stores first, then locks the run.
create function koken.is_there(p_run_id bigint, p_cause text, p_wait_for text)
returns boolean language sql stable as $$
  select case p_cause
    when 'signal' then exists (
      select from koken.signal s where s.run_id = p_run_id and s.taken_by is null
         and s.name = any(string_to_array(p_wait_for, e'\n')))
    when 'question' then exists (
      select from koken.question q where q.run_id = p_run_id and q.answered_at is not null
         and q.closed_at is null and q.key = any(string_to_array(p_wait_for, e'\n')))
    else false end
$$;

-- Makes a run ready that waits for this; the caller has stored it before.
create function koken.wake_for(p_run_id bigint, p_cause text, p_name text) returns koken.run
language plpgsql as $$
declare r koken.run;
begin
  select * into r from koken.run where id = p_run_id for no key update;
  if not found then
    raise exception 'there is no run %', p_run_id using errcode = 'KK404';
  end if;
  if r.finished_at is not null then
    raise exception 'run % has ended (%); nobody waits there any more', r.id, r.state
      using errcode = 'KK410', detail = jsonb_build_object('what', 'run ' || r.id)::text;
  end if;
  if r.state = 'waiting' and r.wait_cause = p_cause
     and p_name = any(string_to_array(r.wait_for, e'\n')) then
    update koken.run
       set state = 'ready', wait_cause = null, wait_for = null, wake_at = null,
           rank = koken.now() + r.priority * interval '60 s'
     where id = r.id and state = 'waiting';
    perform koken.hint(r.queue_id);
  end if;
  return r;
end $$;

-- Whether a JSON Schema says of a value, or of something in it, that nobody is shown it.
create function koken.calls_secret(p_schema jsonb) returns boolean
language sql immutable
return jsonb_path_exists(p_schema, '$.** ? (@.writeOnly == true || @.format == "password")');

-- Keeps a signal for a run, whether or not it waits for it already.
create function koken.send_signal(
  p_run_id bigint, p_name text, p_value jsonb, p_by text, p_reason text)
returns bigint language plpgsql as $$
declare
  r koken.run;
  signal_id bigint;
begin
  insert into koken.signal (run_id, name, value, by) values (p_run_id, p_name, p_value, p_by)
  returning id into signal_id;
  r := koken.wake_for(p_run_id, 'signal', p_name);
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
  values (r.workspace_id, 'signal', p_by, p_reason, r.id, r.job_id, jsonb_build_object('name', p_name));
  return signal_id;
end $$;

-- Answers an open question of a run, once.
create function koken.answer_question(
  p_run_id bigint, p_key text, p_answer jsonb, p_by text, p_reason text)
returns void language plpgsql as $$
declare
  r koken.run;
  q koken.question;
begin
  update koken.question set answer = p_answer, answered_by = p_by, answered_at = koken.now()
   where run_id = p_run_id and key = p_key and answered_at is null and closed_at is null
     and (until_at is null or until_at > koken.now())
  returning * into q;
  if not found then
    select * into q from koken.question where run_id = p_run_id and key = p_key;
    raise exception 'question "%" of run % %', q.text, p_run_id,
      case when q.answered_at is not null then 'was answered by ' || q.answered_by
           else 'is closed: nobody waits for the answer any more' end
      using errcode = 'KK410', detail = jsonb_build_object('what', 'run ' || p_run_id)::text;
  end if;
  r := koken.wake_for(p_run_id, 'question', p_key);
  insert into koken.event (workspace_id, verb, by, reason, run_id, job_id, detail)
  values (r.workspace_id, 'answer', p_by, p_reason, r.id, r.job_id,
          jsonb_build_object('question', q.text, 'answer',
            case when koken.calls_secret(q.schema) then '"•••"'::jsonb else p_answer end));
end $$;

-- Records a wait of the body that holds this lease, or looks how a recorded one stands: value is
-- what came, late that its time was up, remaining how many seconds are left. With p_before, what came
-- to that wait was none (p_reason says why): this one goes on for it. No row: the lease is gone.
create function koken.await_it(
  p_run_id bigint, p_lease int, p_key text, p_ordinal int, p_kind text, p_name text,
  p_seconds float8, p_until timestamptz, p_schema jsonb, p_for text, p_reason text,
  p_before text
) returns table (value jsonb, late boolean, remaining float8) language plpgsql as $$
declare
  stands jsonb;
  until_at timestamptz;
begin
  perform from koken.run r where r.id = p_run_id and r.lease = p_lease and r.state = 'running' for share;
  if not found then
    return;
  end if;
  select c.value into stands from koken.checkpoint c where c.run_id = p_run_id and c.key = p_key;
  if stands is null then
    until_at := coalesce(p_until, koken.now() + make_interval(secs => p_seconds));
    if p_kind = 'signal' and p_before <> '' then
      select (c.value ->> 'until')::timestamptz into until_at
        from koken.checkpoint c where c.run_id = p_run_id and c.key = p_before;
      update koken.signal s set refused = p_reason where s.run_id = p_run_id and s.taken_by = p_before;
    end if;
    stands := jsonb_build_object('kind', p_kind, 'name', p_name, 'until', until_at);
    if koken.calls_secret(p_schema) then
      stands := stands || '{"secret": true}';
    end if;
    if p_kind = 'signal' then
      stands := stands || jsonb_build_object('schema', p_schema);
    end if;
    insert into koken.checkpoint (run_id, key, value, lease, ordinal)
    values (p_run_id, p_key, stands, p_lease, p_ordinal);
    if p_kind = 'question' then
      insert into koken.question (run_id, key, text, for_whom, schema, until_at, reason)
      values (p_run_id, p_key, p_name, p_for, p_schema, until_at, p_reason);
    end if;
  else
    until_at := (stands ->> 'until')::timestamptz;
    if p_kind = 'signal' and stands -> 'value' is null and stands -> 'schema' <> p_schema then
      stands := stands || jsonb_build_object('schema', p_schema);
      update koken.checkpoint c set value = stands where c.run_id = p_run_id and c.key = p_key;
    end if;
  end if;
  value := stands -> 'value';
  late := coalesce((stands ->> 'late')::boolean, false);
  remaining := extract(epoch from until_at - koken.now());
  if value is null and not late then
    if p_kind = 'signal' then
      update koken.signal s set taken_by = p_key, refused = null
       where s.id = (select n.id from koken.signal n
                      where n.run_id = p_run_id and n.name = p_name and n.taken_by is null
                      order by n.id limit 1)
      returning s.value into value;
    elsif p_kind = 'question' then
      select q.answer into value from koken.question q
       where q.run_id = p_run_id and q.key = p_key and q.answered_at is not null;
    end if;
    late := value is null and coalesce(remaining <= 0, false);
    if value is not null or late then
      update koken.checkpoint c
         set value = stands || jsonb_build_object('late', late, 'value', await_it.value)
       where c.run_id = p_run_id and c.key = p_key;
      update koken.question q set closed_at = koken.now() where q.run_id = p_run_id and q.key = p_key;
    end if;
  end if;
  return next;
end $$;

-- Starts a child of the run that holds this lease, or finds the one that stands under this key. With
-- p_spent, a child that ended badly before so many attempts were used up is started anew.
-- open_children is null for a run that is not ours but an idempotency key's. No row: the lease is gone.
create function koken.child_of(
  p_run_id bigint, p_lease int, p_key text, p_step text, p_spent int, p_job text, p_args jsonb,
  p_run_at timestamptz, p_delay float8, p_priority int, p_queue text, p_idempotency_key text,
  p_overlap text, p_logical_at timestamptz
) returns table (
  child_id bigint, open_children int, in_line boolean, job text, state text, result jsonb, error jsonb
) language plpgsql as $$
declare
  mine koken.run;
  known jsonb;
  ended_badly boolean;
  started record;
begin
  select * into mine from koken.run r
   where r.id = p_run_id and r.lease = p_lease and r.state = 'running' for no key update;
  if not found then
    return;
  end if;
  in_line := false;
  select c.value into known from koken.checkpoint c where c.run_id = p_run_id and c.key = p_key;
  child_id := (known ->> 'run')::bigint;
  if child_id is not null and p_spent > (known ->> 'spent')::int then
    select r.state in ('failed', 'cancelled', 'skipped') into ended_badly
      from koken.run r where r.id = child_id;
    if coalesce(ended_badly, true) then
      child_id := null;
    end if;
  end if;
  if child_id is null then
    started := koken.start_run(
      p_job, p_args, (select w.name from koken.workspace w where w.id = mine.workspace_id), p_run_at,
      p_delay, p_priority, p_queue, p_idempotency_key, p_overlap, coalesce(p_logical_at, mine.logical_at),
      'run', 'run ' || mine.id, null, null, true, mine.id, p_step);
    child_id := started.run_id;
    in_line := started.in_line;
    insert into koken.checkpoint as c (run_id, key, value, lease)
    values (p_run_id, p_key, jsonb_build_object('run', child_id, 'spent', coalesce(p_spent, 0)), p_lease)
    on conflict (run_id, key) do update set value = excluded.value, lease = excluded.lease;
  end if;
  select case when c.parent_id = p_run_id then (
           select r.open_children from koken.run r where r.id = p_run_id) end,
         j.name, c.state, c.result, c.error
    into open_children, job, state, result, error
    from koken.run c join koken.job j on j.id = c.job_id where c.id = child_id;
  return next;
end $$;
