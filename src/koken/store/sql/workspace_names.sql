select id, name, keep from koken.workspace
