-- How many times the code of a pass was renewed. An unclaimed pass has account 0; it may still be hidden, and its code
-- may have been renewed.
ALTER TABLE passes ADD COLUMN renewals INTEGER NOT NULL DEFAULT 0;
