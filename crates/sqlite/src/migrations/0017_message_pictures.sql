-- Finds the message that uses a picture; unused pictures are removed.
CREATE INDEX board_messages_by_picture ON board_messages (picture) WHERE picture IS NOT NULL;

-- Finds the pictures to remove with a deleted account.
CREATE INDEX board_pictures_by_author ON board_messages (author) WHERE picture IS NOT NULL;
