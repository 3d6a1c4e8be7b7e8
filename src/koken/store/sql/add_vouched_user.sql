-- No row: no name is free. A row without an id: somebody came in between, so look again.
-- $1 names, the first that is free is theirs  $2 the same, folded  $3 issuer  $4 subject
with free as (
  select n.name, n.folded
    from unnest($1::text[], $2::text[]) with ordinality as n (name, folded, place)
   where not exists (select from koken.user u where u.folded = n.folded)
   order by n.place limit 1),
added as (
  insert into koken.user (name, folded, issuer, subject, created_by, created_at)
  select f.name, f.folded, $3, $4, $3, koken.now() from free f
  on conflict do nothing
  returning id, name, disabled_at)
select a.id, a.name, a.disabled_at
  from (select exists (select from free)
            or exists (select from koken.user u where u.issuer = $3 and u.subject = $4) as may_be) m
  left join added a on true
 where m.may_be
