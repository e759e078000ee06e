-- The gates that send rides. Rides name their gate by id, so gates are never removed and ids never reused.
CREATE TABLE gates (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    digest     BLOB    NOT NULL UNIQUE,
    resort     INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
