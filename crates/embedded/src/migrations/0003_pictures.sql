-- The name of the picture, 32 bytes; what has that name is kept outside of the database.
ALTER TABLE accounts ADD COLUMN picture BLOB;
