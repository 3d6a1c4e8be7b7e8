-- $1 run  $2 key of the question  $3 answer  $4 by
select koken.answer_question($1, $2, $3::jsonb, $4)
