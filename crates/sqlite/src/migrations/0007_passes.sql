-- Whose a skier's number is.
CREATE TABLE passes (
    skier      INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    hidden     INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX passes_by_account ON passes (account, skier);
