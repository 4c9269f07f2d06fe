-- 0003_indices.sql
-- What the schedule and a look at a run's children read by.
CREATE INDEX line_to_prune ON line (expires_at);

CREATE INDEX runs_of_parent ON runs (parent_id) WHERE parent_id IS NOT NULL;
