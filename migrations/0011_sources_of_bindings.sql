-- 0011_sources_of_bindings.sql
-- Sources of the kind `service`, and the turns of sources that take only so many calls at once. Times are Unix
-- milliseconds.

-- A CHECK cannot be changed, so the table is made anew; it is as 0005 has it but for the kind.
CREATE TABLE sources_of_all_kinds (
  principal       TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('mcp', 'openapi', 'graphql', 'service')),
  settings        TEXT    NOT NULL,
  state           TEXT    NOT NULL CHECK (state IN ('ready', 'down')),
  fault           TEXT,
  facts           TEXT    NOT NULL,
  left_out        TEXT    NOT NULL,
  tools           INTEGER NOT NULL,
  generation      INTEGER NOT NULL,
  last_generation INTEGER NOT NULL,
  failures        INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  refreshed_at    INTEGER,
  refresh_at      INTEGER NOT NULL,
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

INSERT INTO sources_of_all_kinds
  (principal, name, kind, settings, state, fault, facts, left_out, tools, generation, last_generation, failures,
   created_at, updated_at, refreshed_at, refresh_at)
SELECT principal, name, kind, settings, state, fault, facts, left_out, tools, generation, last_generation, failures,
  created_at, updated_at, refreshed_at, refresh_at
FROM sources;

DROP TABLE sources;
ALTER TABLE sources_of_all_kinds RENAME TO sources;
CREATE INDEX sources_to_refresh ON sources (refresh_at);

-- One row a call that has a turn or waits for one, in the order of ids: it has one when fewer than the source takes
-- stand before it. Who waits says so again and again; what is of a dead isolate runs out by itself.
CREATE TABLE source_turns (
  id        INTEGER PRIMARY KEY,
  principal TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  until     INTEGER NOT NULL
) STRICT;

CREATE INDEX source_turns_in_order ON source_turns (principal, source, id);
CREATE INDEX source_turns_to_forget ON source_turns (until);
