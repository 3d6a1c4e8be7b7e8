-- $1 names, the first that is free is theirs  $2 issuer  $3 subject
insert into koken.user (name, issuer, subject, created_by, created_at)
select n.name, $2, $3, $2, koken.now()
  from unnest($1::text[]) with ordinality as n (name, place)
 where not exists (select from koken.user u where lower(u.name) = lower(n.name))
 order by n.place limit 1
returning id, name, disabled_at
