-- What kind of value the items come from, and how many there are.
-- $1 the workflow's run  $2 the step with the list, or null  $3 the argument with the list
select jsonb_typeof(items) as kind, case when jsonb_typeof(items) = 'array' then jsonb_array_length(items) end as total
  from koken.items_of($1::bigint, $2::int, $3) items
