-- Numbers are never given again: what an account made names it by its number.
CREATE TABLE accounts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    username    TEXT    NOT NULL,
    nickname    TEXT,
    email       TEXT,
    role        INTEGER NOT NULL,
    password    TEXT,
    reset       BLOB,
    reset_until INTEGER,
    epoch       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    banned_at   INTEGER,
    deleted_at  INTEGER
) STRICT;

CREATE UNIQUE INDEX accounts_by_username ON accounts (username);
CREATE INDEX accounts_by_deletion ON accounts (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE sessions (
    digest     BLOB    NOT NULL PRIMARY KEY,
    id         BLOB    NOT NULL,
    account    INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    agent      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX sessions_by_account ON sessions (account, id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- In the order in which it happened, numbered so for ever: it is also the feed of what has changed; did is who of the staff did it, 0 for whoever runs the server.
CREATE TABLE account_events (
    row     INTEGER PRIMARY KEY AUTOINCREMENT,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    did     INTEGER
) STRICT;

CREATE INDEX account_events_by_account ON account_events (account);

-- Whose outcome it is: 0 links, 1 accounts.
ALTER TABLE outcomes ADD COLUMN app INTEGER NOT NULL DEFAULT 0;

-- A link's owner is an API key, by its number, or an account, by its number negated.
ALTER TABLE links RENAME COLUMN owner_key TO owner;
ALTER TABLE link_tags RENAME COLUMN owner_key TO owner;
