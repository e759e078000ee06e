-- Keyed by skier: leaderboard rows are written back by skier, long after the rides that changed them.
CREATE TABLE leaders_by_skier (
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    skier    INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    PRIMARY KEY (season, resort, day, skier)
) STRICT, WITHOUT ROWID;

INSERT INTO leaders_by_skier SELECT season, resort, day, skier, vertical FROM leaders;
DROP TABLE leaders;
ALTER TABLE leaders_by_skier RENAME TO leaders;
