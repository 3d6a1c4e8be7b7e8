-- $1 run  $2 name  $3 value  $4 by  $5 reason
select koken.send_signal($1, $2, $3::jsonb, $4, $5)
