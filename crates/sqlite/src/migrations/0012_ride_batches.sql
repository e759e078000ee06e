-- The digest of the batch for which a gate used each Idempotency-Key. Never expires: event ids are made of the key and
-- the line number.
CREATE TABLE ride_batches (
    gate   INTEGER NOT NULL,
    key    BLOB    NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (gate, key)
) STRICT, WITHOUT ROWID;
