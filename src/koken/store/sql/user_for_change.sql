-- $1 name, folded
select u.id, u.name, u.issuer, u.password, u.disabled_at,
       coalesce((select json_object_agg(coalesce(w.name, '*'), m.role)
                   from koken.membership m left join koken.workspace w on w.id = m.workspace_id
                  where m.user_id = u.id and (m.workspace_id is null or w.id is not null)),
                '{}')::text as roles
  from koken.user u where u.folded = $1 for update
