-- Webhooks of channels. cursor: the events that the receiver has accepted. failing_since, next_try and why are set
-- while deliveries fail; disabled_at and why once deliveries have stopped.
CREATE TABLE board_hooks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    channel       TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    secret        BLOB    NOT NULL,
    created_at    INTEGER NOT NULL,
    cursor        TEXT    NOT NULL,
    failures      INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    next_try      INTEGER,
    disabled_at   INTEGER,
    why           TEXT
) STRICT;
