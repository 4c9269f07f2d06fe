-- 0002_ledger_and_packages.sql
-- What was asked under an idempotency key; packages; runs that a run started. Times are Unix
-- milliseconds. Every query that serves a client has the principal in its WHERE.

-- One row a key. It is written in the batch that begins its run, so there is never one without the
-- other; the run's lease is the claim's lease, and the run's stored response is the answer. A claim
-- whose run was lost before it had any effect is given back: `run_id` is NULL until another takes it.
CREATE TABLE ledger (
  principal    TEXT    NOT NULL,
  surface      TEXT    NOT NULL CHECK (surface IN ('execute', 'invocation', 'workflow')),
  target       TEXT    NOT NULL,              -- '' for a program, name/export for an invocation
  key          TEXT    NOT NULL,              -- as the caller sent it, 1 to 255 characters
  request_hash TEXT    NOT NULL,              -- SHA-256 of the canonical request, hex
  fence        INTEGER NOT NULL,              -- grows when the claim changes hands
  run_id       TEXT,
  claimed_at   INTEGER NOT NULL,
  answer_lost  INTEGER NOT NULL DEFAULT 0,    -- 1: answered, and the answer could not be stored
  PRIMARY KEY (principal, surface, target, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_of_run ON ledger (run_id);
CREATE INDEX ledger_to_prune ON ledger (claimed_at);

-- The run that started this one; NULL at the top. Only the top takes permits: a run that waited for
-- one that its own parents hold would wait for ever.
ALTER TABLE runs ADD COLUMN parent_id TEXT;

-- One row a package. Deleting one keeps the row: a version's number is never another version's.
CREATE TABLE packages (
  principal    TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  version      INTEGER,                       -- that the name points at; NULL: deleted
  last_version INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

-- One row a version, never changed.
CREATE TABLE package_versions (
  principal   TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  version     INTEGER NOT NULL,
  description TEXT    NOT NULL,               -- for people and models, at most 2,000 bytes
  exports     TEXT    NOT NULL,               -- JSON by name: schemas and descriptions
  budget_ms   INTEGER,
  limits      TEXT    NOT NULL,               -- JSON
  warnings    TEXT    NOT NULL,               -- JSON, what its author should know
  hash        TEXT    NOT NULL,               -- SHA-256 of the prepared modules, hex
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (principal, name, version)
) STRICT, WITHOUT ROWID;

-- The texts of a version: as they were sent, and as the sandbox loads them. JSON in parts, as
-- responses are: D1 refuses a row over 2,000,000 bytes, and only in production.
CREATE TABLE package_texts (
  principal TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  version   INTEGER NOT NULL,
  kind      TEXT    NOT NULL CHECK (kind IN ('sources', 'modules')),
  part      INTEGER NOT NULL,
  body      TEXT    NOT NULL,                 -- at most 1,000,000 bytes
  PRIMARY KEY (principal, name, version, kind, part)
) STRICT, WITHOUT ROWID;
