-- $1 name  $2 make it where there is none?
select case when $2::boolean then koken.workspace_id($1)
            else (select id from koken.workspace where name = $1 and id <> 2) end as id
