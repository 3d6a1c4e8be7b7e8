-- $1 hash
delete from koken.session where hash = $1
