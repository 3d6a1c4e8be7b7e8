-- A child of a run that goes again counts as open there.
-- $1 child
update koken.run p set open_children = coalesce(p.open_children, 0) + 1
  from koken.run c where c.id = $1::bigint and p.id = c.parent_id
