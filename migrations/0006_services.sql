-- 0006_services.sql
-- Services: exports of packages that are kept at work, one stretch after the other; and runs that wait
-- for a run of theirs that waits for people. Times are Unix milliseconds. Every query that serves a
-- client has the principal in its WHERE.

-- A stretch of a service is a run of a surface of its own. A CHECK cannot be widened in place, so the
-- table is made anew with its rows and indices.
CREATE TABLE runs_next (
  id           TEXT    PRIMARY KEY,   -- random, 128 bits
  principal    TEXT    NOT NULL,
  surface      TEXT    NOT NULL CHECK (surface IN ('execute', 'invocation', 'workflow', 'service')),
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
  error_kind   TEXT,
  parent_id    TEXT                   -- the run that started it; NULL at the top
) STRICT;

INSERT INTO runs_next
  (id, principal, surface, status, label, budget_ms, created_at, ended_at, fence, lease_until,
   cancel_asked, error_code, error_kind, parent_id)
SELECT id, principal, surface, status, label, budget_ms, created_at, ended_at, fence, lease_until,
       cancel_asked, error_code, error_kind, parent_id
FROM runs;

DROP TABLE runs;

ALTER TABLE runs_next RENAME TO runs;

CREATE INDEX runs_of_principal ON runs (principal, created_at DESC, id DESC);
CREATE INDEX runs_of_principal_by_status ON runs (principal, status, created_at DESC, id DESC);
CREATE INDEX runs_to_sweep ON runs (status, lease_until);
CREATE INDEX runs_of_parent ON runs (parent_id) WHERE parent_id IS NOT NULL;

-- One row a call that waits because the run that it invoked waits for people.
CREATE TABLE followed (
  run_id   TEXT    NOT NULL,
  n        INTEGER NOT NULL,          -- the call
  child_id TEXT    NOT NULL,          -- the run that it invoked
  heard    INTEGER NOT NULL DEFAULT 0, -- 1: the call was answered
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX followed_of_child ON followed (child_id);

-- What a version declares of its services, JSON by name.
ALTER TABLE package_versions ADD COLUMN services TEXT NOT NULL DEFAULT '{}';

-- One row a service that was ever started. Whether it is at work is told by the run of its last
-- stretch, whose lease no dead isolate can keep; never by this row alone.
CREATE TABLE services (
  principal  TEXT    NOT NULL,
  package    TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  wanted     TEXT    NOT NULL CHECK (wanted IN ('running', 'stopped')),
  version    INTEGER,                 -- asked for; NULL: the package's current one, at each stretch
  params     TEXT    NOT NULL,        -- JSON as sent
  origin     TEXT    NOT NULL,        -- of the links to approvals
  run_id     TEXT,                    -- of its last stretch
  settled    INTEGER NOT NULL DEFAULT 1, -- 0: what that stretch came to is not in this row yet
  claimed_at INTEGER NOT NULL,        -- when that stretch was begun
  next_at    INTEGER NOT NULL,        -- when the next stretch may begin
  alarm_at   INTEGER,                 -- when the service wants to be woken
  stretches  INTEGER NOT NULL DEFAULT 0, -- since it was started
  failures   INTEGER NOT NULL DEFAULT 0, -- in a row, of stretches that failed soon
  error      TEXT,                    -- JSON: why its last stretch failed, or none could begin
  started_at INTEGER NOT NULL,
  stopped_at INTEGER,
  PRIMARY KEY (principal, package, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX services_due ON services (wanted, next_at);
CREATE INDEX services_to_settle ON services (settled, claimed_at);
CREATE INDEX services_of_run ON services (run_id);
