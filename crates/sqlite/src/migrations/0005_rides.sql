-- What gates told, as it came, for ever. A void stands here as the ride that it takes back, and names it
-- in voids. Ids of events are 16 bytes if they are UUIDs, and text otherwise.
CREATE TABLE rides (
    row      INTEGER PRIMARY KEY,
    gate     INTEGER NOT NULL,
    event    ANY     NOT NULL,
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    skier    INTEGER NOT NULL,
    minute   INTEGER NOT NULL,
    lift     INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    voids    ANY,
    at       INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX rides_by_event ON rides (gate, event);
CREATE UNIQUE INDEX rides_by_void ON rides (gate, voids) WHERE voids IS NOT NULL;
CREATE INDEX rides_by_day ON rides (season, resort, day);

-- Skiers' days, each with the last of the rides that it is a sum of: those that are newer in memory are
-- made again of the rides when the file is opened.
CREATE TABLE skier_days (
    skier    INTEGER NOT NULL,
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    rides    INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    up_to    INTEGER NOT NULL,
    PRIMARY KEY (skier, season, resort, day)
) STRICT, WITHOUT ROWID;

-- The other sums: each changes in the transaction that stores the rides that it is a sum of, but for the
-- leaders, which follow from skiers' days.
-- Day 0 is the whole season. Of the skiers those are among the leaders who went as far up as the floor
-- says, or farther; without a floor all are.
CREATE TABLE resort_days (
    season         INTEGER NOT NULL,
    resort         INTEGER NOT NULL,
    day            INTEGER NOT NULL,
    rides          INTEGER NOT NULL,
    vertical       INTEGER NOT NULL,
    skiers         INTEGER NOT NULL,
    leaders        INTEGER NOT NULL,
    floor_vertical INTEGER,
    floor_skier    INTEGER,
    PRIMARY KEY (season, resort, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE leaders (
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    skier    INTEGER NOT NULL,
    PRIMARY KEY (season, resort, day, vertical DESC, skier)
) STRICT, WITHOUT ROWID;

CREATE TABLE lift_days (
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    lift     INTEGER NOT NULL,
    rides    INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    PRIMARY KEY (season, resort, day, lift)
) STRICT, WITHOUT ROWID;

CREATE TABLE hour_days (
    season   INTEGER NOT NULL,
    resort   INTEGER NOT NULL,
    day      INTEGER NOT NULL,
    hour     INTEGER NOT NULL,
    rides    INTEGER NOT NULL,
    vertical INTEGER NOT NULL,
    PRIMARY KEY (season, resort, day, hour)
) STRICT, WITHOUT ROWID;

-- What has come of all events.
CREATE TABLE ride_ledger (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    stored     INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    refused    INTEGER NOT NULL,
    -- Up to this row of rides every skier's day is as the rides say.
    written_to INTEGER NOT NULL
) STRICT;

INSERT INTO ride_ledger VALUES (1, 0, 0, 0, 0);
