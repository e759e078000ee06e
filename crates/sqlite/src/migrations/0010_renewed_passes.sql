-- How often the code of a pass was renewed. A number that is nobody's has account 0: it may be hidden still, and
-- its code may have been renewed.
ALTER TABLE passes ADD COLUMN renewals INTEGER NOT NULL DEFAULT 0;
