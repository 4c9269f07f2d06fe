-- 0007_people.sql
-- Who comes back to a call that waited for people; how what a run did is undone. Times are Unix
-- milliseconds. Every query that serves a client has the principal in its WHERE.

-- States that MCP clients brought once to go on with a call: each counts once.
CREATE TABLE used_states (
  nonce      TEXT    PRIMARY KEY,
  expires_at INTEGER NOT NULL         -- past it the state is refused for its age
) STRICT, WITHOUT ROWID;

CREATE INDEX used_states_to_prune ON used_states (expires_at);

-- One row a list of declarations, by which call what a tool did is undone: a principal's own, or '*'
-- for all. A list is replaced as a whole.
CREATE TABLE compensations (
  principal  TEXT    PRIMARY KEY,
  list       TEXT    NOT NULL,        -- JSON, at most 262,144 bytes
  updated_at INTEGER NOT NULL,
  updated_by TEXT    NOT NULL
) STRICT;

-- The journal of a run that failed or was cancelled and can be undone is kept until then; NULL while
-- the run goes on.
ALTER TABLE recordings ADD COLUMN keep_until INTEGER;

CREATE INDEX recordings_to_prune ON recordings (keep_until) WHERE keep_until IS NOT NULL;
