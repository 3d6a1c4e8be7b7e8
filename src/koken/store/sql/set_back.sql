-- $1 runs  $2 whether from nothing  $3 attempts that count  $4 at most  $5 when their windows close
select koken.set_back($1::bigint[], $2::boolean[], $3::int[], $4::int[], $5::timestamptz[])
