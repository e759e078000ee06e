-- Who sends rides. Rides name their gate by number, so none is removed and no number is given twice.
CREATE TABLE gates (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    digest     BLOB    NOT NULL UNIQUE,
    resort     INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
