-- 0013_large_rows.sql
-- Tables whose rows may have a megabyte keep them beside their key. In a table WITHOUT ROWID the row is
-- the key's own entry, and SQLite reads each entry whole that a search compares with: to write one
-- response it read as many others as the search had steps.

CREATE TABLE new_run_responses (
  run_id TEXT    NOT NULL,
  part   INTEGER NOT NULL,
  body   TEXT    NOT NULL,            -- at most 1,000,000 bytes
  PRIMARY KEY (run_id, part)
) STRICT;

INSERT INTO new_run_responses (run_id, part, body) SELECT run_id, part, body FROM run_responses;
DROP TABLE run_responses;
ALTER TABLE new_run_responses RENAME TO run_responses;

CREATE TABLE new_journal (
  run_id TEXT    NOT NULL,
  seq    INTEGER NOT NULL,
  body   TEXT    NOT NULL,            -- at most 1,000,000 bytes
  PRIMARY KEY (run_id, seq)
) STRICT;

INSERT INTO new_journal (run_id, seq, body) SELECT run_id, seq, body FROM journal;
DROP TABLE journal;
ALTER TABLE new_journal RENAME TO journal;

CREATE TABLE new_storage (
  principal  TEXT    NOT NULL,
  key        TEXT    NOT NULL,        -- at most 512 bytes
  value      TEXT    NOT NULL,        -- tagged JSON, at most 1,048,576 bytes
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (principal, key)
) STRICT;

INSERT INTO new_storage (principal, key, value, updated_at)
  SELECT principal, key, value, updated_at FROM storage;
DROP TABLE storage;
ALTER TABLE new_storage RENAME TO storage;
