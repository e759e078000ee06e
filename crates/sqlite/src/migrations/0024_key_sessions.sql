-- Sessions of browsers that signed in with an API key; signing out deletes the row.
CREATE TABLE key_sessions (
    digest     BLOB    NOT NULL PRIMARY KEY,
    key_id     INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX key_sessions_by_expiry ON key_sessions (expires_at);
