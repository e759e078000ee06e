-- Sessions of browsers that signed in with an API key; signing out deletes the row.
CREATE TABLE IF NOT EXISTS key_sessions (
    digest     BINARY(32) NOT NULL PRIMARY KEY,
    key_id     BIGINT     NOT NULL,
    expires_at BIGINT     NOT NULL,
    KEY key_sessions_by_expiry (expires_at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
