-- Seasons that are listed, whether or not somebody rode in them.
CREATE TABLE seasons (
    resort INTEGER NOT NULL,
    season INTEGER NOT NULL,
    PRIMARY KEY (resort, season)
) STRICT, WITHOUT ROWID;
