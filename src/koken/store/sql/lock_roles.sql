-- One change of roles at a time: whoever takes the last of a kind must see what others take.
lock table koken.membership in share row exclusive mode
