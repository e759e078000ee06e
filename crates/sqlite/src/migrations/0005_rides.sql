-- The log of ride events, append-only. A void repeats the columns of the ride that it withdraws, and names that event
-- in voids. Event ids are 16 bytes if they are UUIDs, and text otherwise.
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

-- Sums per skier and day; up_to is the last ride included. Newer sums are in memory, and are recomputed from rides
-- when the file is opened.
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

-- The other sums. Each is updated in the transaction that stores its rides, except leaders, which follow from
-- skier_days. Day 0 is the whole season. leaders has the skiers at or above the floor; without a floor, all skiers.
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

-- Counts of all events by outcome.
CREATE TABLE ride_ledger (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    stored     INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    refused    INTEGER NOT NULL,
    -- Up to this row of rides every skier's day is as the rides say.
    written_to INTEGER NOT NULL
) STRICT;

INSERT INTO ride_ledger VALUES (1, 0, 0, 0, 0);
