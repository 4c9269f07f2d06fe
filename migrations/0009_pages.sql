-- 0009_pages.sql
-- What the pages need that people look at: who is signed in, and what a timeline is drawn from. Times
-- are Unix milliseconds.

-- One row a session of a browser. The cookie's value is known by its SHA-256 only. A session lives as
-- long as what signed in: a token's row is read with it each time, and the admin token is bound by
-- `proof`, the SHA-256 of the cookie's value and that token together, which says nothing to whoever
-- reads this table.
CREATE TABLE sessions (
  hash       TEXT    PRIMARY KEY,   -- hex
  token_id   TEXT,                  -- NULL: the admin token
  proof      TEXT,                  -- hex, of the admin token's session
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_to_prune ON sessions (expires_at);

-- How often somebody tried to sign in lately, by the hash of the address. Rows are gone within the hour.
CREATE TABLE sign_in_tries (
  address TEXT    PRIMARY KEY,      -- SHA-256, hex
  tries   INTEGER NOT NULL,
  since   INTEGER NOT NULL
) STRICT;

CREATE INDEX sign_in_tries_to_prune ON sign_in_tries (since);

-- One row an attempt: what dispatches and approvals do not tell of a run's time. Kept with the run, for
-- it holds no values. An attempt that was lost has no end.
CREATE TABLE attempts (
  run_id      TEXT    NOT NULL,
  fence       INTEGER NOT NULL,     -- the attempt's
  began_at    INTEGER NOT NULL,     -- its permit was there, or it was taken up
  ceiling_ms  INTEGER NOT NULL,
  loaded_ms   INTEGER,              -- from then until its program could start
  replayed_ms INTEGER,              -- from there until the recorded part was behind it
  compute_ms  INTEGER,              -- the program on its own
  tools_ms    INTEGER,              -- at least one dispatch in flight
  ended_at    INTEGER,
  ended_as    TEXT,                 -- a status of `runs`; waiting_approval and parked: it goes on
  PRIMARY KEY (run_id, fence)
) STRICT, WITHOUT ROWID;

-- Lists of runs say what a program is by its first lines. The index holds them, so that a list does not
-- read whole programs.
CREATE INDEX run_heads ON run_inputs (run_id, substr(source, 1, 600));

-- Where in the program a question was put, as its author counts: from 1.
ALTER TABLE approvals ADD COLUMN line INTEGER;
