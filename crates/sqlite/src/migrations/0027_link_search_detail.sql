-- A search asks which links contain a trigram, not where: without positions the index of long repetitions is small.
DROP TABLE link_search;
CREATE VIRTUAL TABLE link_search USING fts5(short, target, tags, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram');
INSERT INTO link_search (rowid, short, target, tags)
SELECT row, short, target, coalesce((SELECT group_concat(value, ' ') FROM json_each(tags)), '')
FROM links WHERE owner IS NOT NULL AND deleted_at IS NULL;
