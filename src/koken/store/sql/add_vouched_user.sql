-- $1 names, the first that is free is theirs  $2 the same, folded  $3 issuer  $4 subject
insert into koken.user (name, folded, issuer, subject, created_by, created_at)
select n.name, n.folded, $3, $4, $3, koken.now()
  from unnest($1::text[], $2::text[]) with ordinality as n (name, folded, place)
 where not exists (select from koken.user u where u.folded = n.folded)
 order by n.place limit 1
returning id, name, disabled_at
