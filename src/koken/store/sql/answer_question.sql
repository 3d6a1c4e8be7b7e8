-- $1 run  $2 key of the question  $3 answer  $4 by  $5 reason
select koken.answer_question($1, $2, $3::jsonb, $4, $5)
