-- Identities of sign-in providers that are linked to accounts; an account has at most one per issuer.
CREATE TABLE identities (
    issuer    TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    account   INTEGER NOT NULL,
    linked_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX identities_by_account ON identities (account, issuer);

-- Sign-up tickets: each lets a user whom a provider has authenticated create an account. Rows are in order of issue.
CREATE TABLE tickets (
    row        INTEGER PRIMARY KEY AUTOINCREMENT,
    digest     BLOB    NOT NULL,
    issuer     TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tickets_by_digest ON tickets (digest);
CREATE UNIQUE INDEX tickets_by_identity ON tickets (issuer, subject);
CREATE INDEX tickets_by_expiry ON tickets (expires_at);
