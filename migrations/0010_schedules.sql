-- 0010_schedules.sql
-- Schedules, and what became of each of their times. Times are Unix milliseconds. Every query that
-- serves a client has the principal in its WHERE.

-- One row a schedule. `next_at` moves on in the transaction that puts the times before it into
-- `firings`, by an UPDATE whose WHERE names the old one: whoever comes second changes nothing.
CREATE TABLE schedules (
  principal  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  id         TEXT    NOT NULL UNIQUE, -- random, another one each time it is put: a part of the keys of its runs
  rule       TEXT    NOT NULL,        -- JSON: {cron, zone}, {everyMs, from} or {at}
  work       TEXT    NOT NULL,        -- JSON: what runs
  missed     TEXT    NOT NULL CHECK (missed IN ('skip', 'catch_up')),
  paused     INTEGER NOT NULL DEFAULT 0,
  next_at    INTEGER,                 -- NULL: it has fired for the last time
  origin     TEXT    NOT NULL,        -- of the links to approvals
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX schedules_due ON schedules (paused, next_at);

-- One row a time of a schedule: the history. A 'due' one has no run yet; its run has the key
-- schedule:id:at, so it is one run whoever begins it how often.
CREATE TABLE firings (
  schedule_id TEXT    NOT NULL,
  at          INTEGER NOT NULL,       -- when it was due
  manual      INTEGER NOT NULL DEFAULT 0, -- 1: somebody asked for it
  principal   TEXT    NOT NULL,
  name        TEXT    NOT NULL,       -- of the schedule
  state       TEXT    NOT NULL CHECK (state IN ('due', 'begun', 'skipped', 'refused')),
  missed      INTEGER NOT NULL DEFAULT 0, -- of a skipped one: how many times it stands for
  run_id      TEXT,
  tried_at    INTEGER NOT NULL DEFAULT 0,
  error       TEXT,                   -- JSON: why no run began
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, at, manual)
) STRICT, WITHOUT ROWID;

CREATE INDEX firings_of_schedule ON firings (principal, name, at DESC, manual);
CREATE INDEX firings_due ON firings (state, tried_at);
CREATE INDEX firings_to_prune ON firings (created_at);
