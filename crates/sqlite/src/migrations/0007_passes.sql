-- The account that has claimed a skier's pass.
CREATE TABLE passes (
    skier      INTEGER PRIMARY KEY,
    account    INTEGER NOT NULL,
    hidden     INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX passes_by_account ON passes (account, skier);
