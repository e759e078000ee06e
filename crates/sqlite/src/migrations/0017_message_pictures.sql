-- Of a picture, in which message it is: what is in none is removed.
CREATE INDEX board_messages_by_picture ON board_messages (picture) WHERE picture IS NOT NULL;

-- Of an account that is deleted, the messages whose pictures go with it.
CREATE INDEX board_pictures_by_author ON board_messages (author) WHERE picture IS NOT NULL;
