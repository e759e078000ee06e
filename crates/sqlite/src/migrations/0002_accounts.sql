-- Ids are never reused: rows that an account owns name it by id.
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

-- The event log of accounts, in order; row numbers are never reused. did: NULL for the owner, the id of the staff
-- account that acted, or 0 for the operator of the server.
CREATE TABLE account_events (
    row     INTEGER PRIMARY KEY AUTOINCREMENT,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    did     INTEGER
) STRICT;

CREATE INDEX account_events_by_account ON account_events (account);

-- The app of the outcome: 0 links, 1 accounts.
ALTER TABLE outcomes ADD COLUMN app INTEGER NOT NULL DEFAULT 0;

-- The owner of a link: the id of an API key, or the negated id of an account.
ALTER TABLE links RENAME COLUMN owner_key TO owner;
ALTER TABLE link_tags RENAME COLUMN owner_key TO owner;
