-- $1 queue ids  $2 lease (s)  $3 confirm (s)
select chore, due_in from koken.pulse($1::int[], $2::float8, $3::float8)
