-- Sessions of somebody: the one of an id, or all but one.
-- $1 user  $2 id, '' for all  $3 hash that stays
delete from koken.session s
 where s.user_id = $1 and s.hash <> $3
   and ($2::text = '' or left(encode(s.hash, 'hex'), 16) = $2)
returning s.hash
