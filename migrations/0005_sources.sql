-- 0005_sources.sql
-- Sources that principals connect, the tools that they have, and secrets. Times are Unix milliseconds.
-- Every query that serves a client has the principal in its WHERE.

-- One row a source. Its tools are those rows of `tools` that have its generation: an import writes
-- rows of a later one, however many batches that takes, and then moves the source on in one UPDATE.
CREATE TABLE sources (
  principal       TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  kind            TEXT    NOT NULL CHECK (kind IN ('mcp', 'openapi', 'graphql')),
  settings        TEXT    NOT NULL,            -- JSON as it was put; names of secrets, never values
  state           TEXT    NOT NULL CHECK (state IN ('ready', 'down')),
  fault           TEXT,                        -- JSON: why it is down
  facts           TEXT    NOT NULL,            -- JSON: what the upstream says of itself
  left_out        TEXT    NOT NULL,            -- JSON: what could not be imported, and why
  tools           INTEGER NOT NULL,            -- how many it has
  generation      INTEGER NOT NULL,
  last_generation INTEGER NOT NULL,            -- that was given to an import
  failures        INTEGER NOT NULL,            -- refreshes in a row that failed
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,            -- its settings
  refreshed_at    INTEGER,                     -- its tools
  refresh_at      INTEGER NOT NULL,            -- when the schedule looks again
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX sources_to_refresh ON sources (refresh_at);

-- One row a tool of a generation.
CREATE TABLE tools (
  id          INTEGER PRIMARY KEY,
  principal   TEXT    NOT NULL,
  source      TEXT    NOT NULL,
  generation  INTEGER NOT NULL,
  path        TEXT    NOT NULL,                -- source.group.tool: what a program writes
  key         TEXT    NOT NULL,                -- what the upstream knows it by
  description TEXT    NOT NULL,
  parameters  TEXT    NOT NULL,                -- JSON Schema of the one argument
  result      TEXT,                            -- JSON Schema of the result, where it is known
  hints       TEXT    NOT NULL,                -- JSON: what the upstream says that a call does
  plan        TEXT    NOT NULL                 -- JSON: how it is called
) STRICT;

CREATE UNIQUE INDEX tools_by_path ON tools (principal, path, generation);
CREATE INDEX tools_of_source ON tools (principal, source, generation, path);

-- Every path that a tool of a source ever had: it stays the tool's, whatever the source lists later.
CREATE TABLE tool_paths (
  principal TEXT NOT NULL,
  source    TEXT NOT NULL,
  key       TEXT NOT NULL,
  path      TEXT NOT NULL,
  PRIMARY KEY (principal, source, key)
) STRICT, WITHOUT ROWID;

-- The words by which tools are found; rowid is the tool's id. `owner` holds a word for the principal
-- and one for the source, so that what others have takes no place among the first 200.
CREATE VIRTUAL TABLE tool_words USING fts5 (
  owner, path, words, description, tokenize = 'porter unicode61'
);

-- Secrets, sealed by AES-GCM under a key of the environment.
CREATE TABLE secrets (
  principal  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  key_id     TEXT    NOT NULL,                 -- the key that opens it
  nonce      TEXT    NOT NULL,                 -- hex, 96 bits, never used twice
  sealed     TEXT    NOT NULL,                 -- hex
  grants     TEXT    NOT NULL,                 -- JSON: where it may go
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_of_key ON secrets (key_id);
