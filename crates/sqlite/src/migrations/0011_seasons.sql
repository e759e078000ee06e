-- Seasons that were added explicitly; they are listed even without rides.
CREATE TABLE seasons (
    resort INTEGER NOT NULL,
    season INTEGER NOT NULL,
    PRIMARY KEY (resort, season)
) STRICT, WITHOUT ROWID;
