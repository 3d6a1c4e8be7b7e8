-- $1 step  $2 number, from 1
select id from koken.run where parent_id = $1::bigint and step_no = $2::int and undoes_id is null
