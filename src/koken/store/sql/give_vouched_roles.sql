-- What an issuer says of somebody replaces what it said before.
-- $1 user  $2 workspaces  $3 roles  $4 issuer
with said as (
  select case when w.name = '*' then null else koken.workspace_id(w.name) end as workspace_id, w.role
    from unnest($2::text[], $3::text[]) as w (name, role)),
gone as (
  delete from koken.membership m
   where m.user_id = $1 and m.given_by = $4
     and not exists (select from said s where s.workspace_id is not distinct from m.workspace_id)
  returning m.user_id),
given as (
  insert into koken.membership (user_id, workspace_id, role, given_by, given_at)
  select $1, s.workspace_id, s.role, $4, koken.now() from said s
  on conflict (user_id, coalesce(workspace_id, 0)) do update
     set role = excluded.role where koken.membership.given_by = excluded.given_by
  returning user_id)
select (select count(*) from said) > 0
    or exists (select from koken.membership m where m.user_id = $1 and m.given_by <> $4)
       as some, (select count(*) from gone) as gone, (select count(*) from given) as given
