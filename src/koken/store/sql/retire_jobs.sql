-- Jobs of an app that it no longer declares: their schedules end, their history stays.
-- $1 app  $2 names that it declares
update koken.job set retired_at = koken.now()
 where app = $1 and app <> '' and retired_at is null and name <> all($2::text[])
returning id, name
