-- What the doors sign with.
select key from koken.door_key
