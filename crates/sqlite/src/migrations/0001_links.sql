-- Properties of the file itself, such as the installation's secret.
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Times are milliseconds since 1970-01-01T00:00Z. An anonymous link that never ends costs two B-trees: the table,
-- which is append-only, and the index of shorts. All other indexes are partial.
CREATE TABLE links (
    row          INTEGER PRIMARY KEY,
    short        TEXT    NOT NULL,
    id           BLOB    NOT NULL,
    target       TEXT    NOT NULL,
    redirect     INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    key_version  INTEGER NOT NULL,
    owner_key    INTEGER,
    created_at   INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    deleted_at   INTEGER,
    expires_at   INTEGER,
    clicks_max   INTEGER,
    clicks_used  INTEGER,
    exhausted_at INTEGER,
    password     TEXT,
    tags         TEXT
) STRICT;

CREATE UNIQUE INDEX links_by_short ON links (short);
CREATE INDEX links_by_owner ON links (owner_key, id, short) WHERE owner_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX links_by_deletion ON links (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX links_by_expiry ON links (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX links_by_exhaustion ON links (exhausted_at) WHERE exhausted_at IS NOT NULL;

-- For lists: the tags of links that have an owner and are not deleted; links.tags has them, too.
CREATE TABLE link_tags (
    owner_key INTEGER NOT NULL,
    tag       TEXT    NOT NULL,
    id        BLOB    NOT NULL,
    row       INTEGER NOT NULL,
    PRIMARY KEY (owner_key, tag, id)
) STRICT, WITHOUT ROWID;

-- The full-text index of the same links; its rowid is links.row.
CREATE VIRTUAL TABLE link_search USING fts5(short, target, content = '', contentless_delete = 1, tokenize = 'trigram');

-- hour and day count whole hours and days since 1970-01-01T00:00Z.
CREATE TABLE clicks_hour (
    link   BLOB    NOT NULL,
    hour   INTEGER NOT NULL,
    device INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (link, hour, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE clicks_day (
    link   BLOB    NOT NULL,
    day    INTEGER NOT NULL,
    device INTEGER NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (link, day, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE referrers (
    link   BLOB    NOT NULL,
    host   TEXT    NOT NULL,
    clicks INTEGER NOT NULL,
    PRIMARY KEY (link, host)
) STRICT, WITHOUT ROWID;

-- Click batches applied for each counting process: all before `number`, and the first `parts` parts of it.
CREATE TABLE click_flushes (
    incarnation BLOB    NOT NULL PRIMARY KEY,
    number      INTEGER NOT NULL,
    parts       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    digest     BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- Stored outcomes of writes with an Idempotency-Key.
CREATE TABLE outcomes (
    row         INTEGER PRIMARY KEY,
    attempt     BLOB    NOT NULL UNIQUE,
    fingerprint BLOB    NOT NULL,
    at          INTEGER NOT NULL,
    outcome     TEXT    NOT NULL
) STRICT;

CREATE INDEX outcomes_by_time ON outcomes (at);
