-- The record of security events. id sorts by time. actor: NULL for a visitor, 0 for the operator, the id of an account,
-- or the negated id of an API key. account is the account that the event concerns.
CREATE TABLE security_events (
    id         BLOB    NOT NULL PRIMARY KEY,
    at         INTEGER NOT NULL,
    last_at    INTEGER NOT NULL,
    repeats    INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    is_failure INTEGER NOT NULL,
    actor      INTEGER,
    account    INTEGER,
    origin     TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX security_events_by_kind ON security_events (kind, id);
CREATE INDEX security_events_by_actor ON security_events (actor, id);
CREATE INDEX security_events_by_account ON security_events (account, id);
CREATE INDEX security_events_by_origin ON security_events (origin, id);
CREATE INDEX security_events_by_failure ON security_events (is_failure, id);
