-- $1 issuer  $2 subject
select id, name, disabled_at from koken.user where issuer = $1 and subject = $2 for update
