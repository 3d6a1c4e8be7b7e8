-- The steps of a version; one that is known already has them.
-- $1 version  $2 numbers  $3 names  $4 queues  $5 priorities  $6 attempts  $7 infra attempts  $8 rules
-- $9 how many steps each needs  $10 which each frees, as texts of arrays  $11 lock keys  $12 modes  $13 limits
-- $14 when held  $15 whether it has items  $16 whether it compensates
-- $17 whether it takes arguments  $18 the steps whose results it takes, as texts of arrays
insert into koken.step (
  version_id, no, name, queue_id, priority, max_attempts, max_infra_attempts, need_rule, needs, frees, lock_key,
  lock_mode, lock_limit, lock_when_held, of_items, compensates, takes_arguments, takes)
select $1::int, t.no, t.name, q.id, t.priority, t.max_attempts, t.max_infra_attempts, t.need_rule, t.needs,
       t.frees::int[], t.lock_key, t.lock_mode, t.lock_limit, t.lock_when_held, t.of_items, t.compensates,
       t.takes_arguments, t.takes::int[]
  from unnest($2::int[], $3::text[], $4::text[], $5::smallint[], $6::int[], $7::int[], $8::text[], $9::int[],
              $10::text[], $11::text[], $12::text[], $13::int[], $14::text[], $15::boolean[], $16::boolean[],
              $17::boolean[], $18::text[])
    as t (no, name, queue, priority, max_attempts, max_infra_attempts, need_rule, needs, frees, lock_key, lock_mode,
          lock_limit, lock_when_held, of_items, compensates, takes_arguments, takes)
  join (select name, koken.queue_id(name) as id from (select distinct unnest($4::text[]) as name) n) q on q.name = t.queue
on conflict do nothing
