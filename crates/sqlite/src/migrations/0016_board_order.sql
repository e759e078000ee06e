-- The role, which all readers see: 0 member, 1 moderator, 2 admin. Saved with the profile, and when it changes.
ALTER TABLE board_people ADD COLUMN role INTEGER NOT NULL DEFAULT 0;

-- Whether the channel is read-only.
ALTER TABLE board_channels ADD COLUMN is_archived INTEGER NOT NULL DEFAULT 0;

CREATE INDEX board_messages_hidden ON board_messages (at) WHERE visibility = 1;
