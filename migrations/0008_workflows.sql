-- 0008_workflows.sql
-- Durable runs: workflows, and when a parked run goes on by itself. Times are Unix milliseconds. The rows
-- of a run are the truth; the engine (Cloudflare Workflows) only drives it.

-- When a run that is parked goes on without anybody's decision; NULL: it does not.
ALTER TABLE runs ADD COLUMN wake_at INTEGER;

CREATE INDEX runs_of_principal_by_surface ON runs (principal, surface, created_at DESC, id DESC);

-- One row a workflow, beside its run. The instance of the engine has the run's id.
CREATE TABLE workflows (
  run_id     TEXT    PRIMARY KEY,
  made       INTEGER NOT NULL DEFAULT 0, -- 1: the engine has its instance
  closed     INTEGER NOT NULL DEFAULT 0, -- 1: the run has ended, and the engine knows
  segment    INTEGER NOT NULL DEFAULT 0, -- the one at work, or the last; events to wake it name it
  retries    INTEGER NOT NULL,           -- how often a program that failed is taken back
  ends_at    INTEGER NOT NULL,           -- the end of its life time
  cuts       INTEGER NOT NULL DEFAULT 0, -- segments in a row that a budget or ceiling cut
  faults     INTEGER NOT NULL DEFAULT 0, -- segments in a row that were lost with their sandbox
  errors     INTEGER NOT NULL DEFAULT 0, -- how often the program failed and was taken back
  losses     INTEGER NOT NULL DEFAULT 0, -- attempts without a word, since the journal last grew
  progress   INTEGER NOT NULL DEFAULT 0, -- rows of the journal at the last such loss
  error_code TEXT,                       -- of the segment that is made again
  error      TEXT
) STRICT;

CREATE INDEX workflows_open ON workflows (closed) WHERE closed = 0;
