-- 0004_waiting.sql
-- Runs that wait for people: the rules that make them wait, the questions, and the record by which a
-- run goes on. Times are Unix milliseconds. Every query that serves a client has the principal in its
-- WHERE; every write of an attempt names its fence.

-- One row a list of rules: a principal's own, or '*' for all. A list is replaced as a whole.
CREATE TABLE policies (
  principal  TEXT    PRIMARY KEY,
  rules      TEXT    NOT NULL,        -- JSON, at most 262,144 bytes
  updated_at INTEGER NOT NULL,
  updated_by TEXT    NOT NULL
) STRICT;

-- What a run needs, beside its input, to be run again from the top.
CREATE TABLE recordings (
  run_id   TEXT    PRIMARY KEY,
  seed     TEXT    NOT NULL,          -- 64 hex digits; as secret as the journal
  harness  INTEGER NOT NULL,          -- version of the numbering that the journal follows
  request  TEXT    NOT NULL,          -- JSON: what was ordered, without program and parameters
  losses   INTEGER NOT NULL DEFAULT 0 -- attempts of which nothing was heard any more
) STRICT;

-- The journal: the rows of a run in order of `seq`, joined, are its entries, one a line. What one
-- transaction writes ends with a whole line; a row holds 1,000,000 bytes at most.
CREATE TABLE journal (
  run_id TEXT    NOT NULL,
  seq    INTEGER NOT NULL,
  body   TEXT    NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- One row a question. `state` leaves 'open' once, by an UPDATE whose WHERE names it (meta.changes says
-- who won). `used`: the run has heard of the decision.
CREATE TABLE approvals (
  id         TEXT    PRIMARY KEY,     -- random, 128 bits
  principal  TEXT    NOT NULL,
  run_id     TEXT    NOT NULL,
  n          INTEGER NOT NULL,        -- the dispatch it is for
  path       TEXT    NOT NULL,
  arguments  TEXT    NOT NULL,        -- plain JSON, secrets taken out, cut to 65,536 bytes
  rule       TEXT    NOT NULL,        -- JSON: the rule that asked
  state      TEXT    NOT NULL CHECK (state IN
               ('open', 'allowed', 'declined', 'expired', 'dropped')),
  for_run    INTEGER NOT NULL DEFAULT 0, -- allowed for the rest of the run
  reason     TEXT,
  decided_by TEXT,                    -- the id of the token that decided
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  used       INTEGER NOT NULL DEFAULT 0,
  UNIQUE (run_id, n)
) STRICT;

CREATE INDEX approvals_of_principal ON approvals (principal, state, created_at DESC, id DESC);
CREATE INDEX approvals_to_expire ON approvals (state, expires_at);
CREATE INDEX approvals_to_use ON approvals (used, state, run_id);
