-- 0001_runs.sql
-- Runs, what they did, and what was answered. Times are Unix milliseconds. Every query that serves a
-- client has the principal in its WHERE.

-- One row a run. `status` leaves 'running' once, by an UPDATE whose WHERE names the fence: whoever
-- lost the lease can write nothing any more (meta.changes says who won).
CREATE TABLE runs (
  id           TEXT    PRIMARY KEY,   -- random, 128 bits
  principal    TEXT    NOT NULL,
  surface      TEXT    NOT NULL CHECK (surface IN ('execute', 'invocation', 'workflow')),
  status       TEXT    NOT NULL CHECK (status IN
                 ('running', 'waiting_approval', 'parked', 'completed', 'failed', 'cancelled')),
  label        TEXT,                  -- the caller's own name for it
  budget_ms    INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  ended_at     INTEGER,
  fence        INTEGER NOT NULL,      -- of the attempt that may write
  lease_until  INTEGER NOT NULL,      -- past it the attempt counts as dead
  cancel_asked INTEGER NOT NULL DEFAULT 0,
  error_code   TEXT,                  -- HF_E…, of a failed or cancelled run
  error_kind   TEXT
) STRICT;

CREATE INDEX runs_of_principal ON runs (principal, created_at DESC, id DESC);
CREATE INDEX runs_of_principal_by_status ON runs (principal, status, created_at DESC, id DESC);
CREATE INDEX runs_to_sweep ON runs (status, lease_until);

-- What a run was asked to do, apart from its row so that a list reads little.
CREATE TABLE run_inputs (
  run_id TEXT PRIMARY KEY,
  source TEXT NOT NULL,               -- at most 262,144 bytes
  params TEXT NOT NULL                -- JSON as sent, at most 1,048,576 bytes
) STRICT;

-- The response as it was answered, byte for byte, in parts: D1 refuses a row over 2,000,000 bytes,
-- and only in production.
CREATE TABLE run_responses (
  run_id TEXT    NOT NULL,
  part   INTEGER NOT NULL,
  body   TEXT    NOT NULL,            -- at most 1,000,000 bytes
  PRIMARY KEY (run_id, part)
) STRICT, WITHOUT ROWID;

-- The lines of a run that is at work, so that a lost isolate still tells how far it came.
CREATE TABLE run_logs (
  run_id TEXT PRIMARY KEY,
  lines  TEXT NOT NULL                -- JSON, at most 65,536 bytes of text and its framing
) STRICT;

-- One row a dispatch: written before the call and after it. A row in 'called' whose run is over is a
-- call of which nobody knows whether it had its effect.
CREATE TABLE dispatches (
  run_id      TEXT    NOT NULL,
  n           INTEGER NOT NULL,       -- order of issue, from 0
  path        TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('called', 'returned', 'failed', 'stopped')),
  arguments   TEXT    NOT NULL,       -- tagged JSON, cut to 4,096 bytes for people
  bytes_in    INTEGER NOT NULL,
  called_at   INTEGER NOT NULL,
  returned_at INTEGER,
  reply       TEXT,                   -- tagged JSON or the error, cut to 4,096 bytes for people
  bytes_out   INTEGER,
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

-- Bearer tokens. Only the SHA-256 of the secret part is kept.
CREATE TABLE tokens (
  id           TEXT    PRIMARY KEY,   -- the public part of the token
  principal    TEXT    NOT NULL,
  hash         TEXT    NOT NULL,      -- hex
  label        TEXT    NOT NULL,
  scopes       TEXT    NOT NULL,      -- separated by one space
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER
) STRICT;

CREATE INDEX tokens_of_principal ON tokens (principal, created_at DESC);

-- tools.storage: small values of a principal's programs.
CREATE TABLE storage (
  principal  TEXT    NOT NULL,
  key        TEXT    NOT NULL,        -- at most 512 bytes
  value      TEXT    NOT NULL,        -- tagged JSON, at most 1,048,576 bytes
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (principal, key)
) STRICT, WITHOUT ROWID;

-- Runs that wait for a permit. A running row is the permit itself (its lease is its term); a row here
-- is a place in line, which its waiter keeps alive by asking again.
CREATE TABLE line (
  run_id     TEXT    PRIMARY KEY,
  principal  TEXT    NOT NULL,
  joined_at  INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX line_of_principal ON line (principal, expires_at, joined_at);
