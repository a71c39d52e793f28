-- What happened to each fact, a row a change. Facts themselves are never overwritten: a changed one is a new row.
CREATE TABLE fact_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    fact_id INTEGER NOT NULL REFERENCES facts ON DELETE CASCADE,
    what TEXT NOT NULL CHECK (what IN
        ('learned', 'agreed', 'returned', 'merged', 'superseded', 'denied', 'corrected', 'doubted', 'expired', 'forgotten')),
    made_by TEXT NOT NULL CHECK (made_by IN ('extraction', 'hand', 'dream', 'prune')),
    other_id INTEGER,                           -- the fact that did it, or that it came from
    from_value TEXT,
    to_value TEXT,
    valid_at INTEGER NOT NULL,                  -- when it changed in the world: the message's time
    recorded_at INTEGER NOT NULL                -- when it changed here
) STRICT;
CREATE INDEX fact_history_of_user ON fact_history (user_id, id);
CREATE INDEX fact_history_of_fact ON fact_history (fact_id);
CREATE INDEX facts_ending ON facts (valid_until) WHERE status = 'active' AND valid_until IS NOT NULL;
INSERT INTO fact_history (user_id, fact_id, what, made_by, to_value, valid_at, recorded_at)
    SELECT user_id, id, 'learned', CASE origin WHEN 'by_hand' THEN 'hand' ELSE 'extraction' END,
        content, coalesce(valid_from, created_at), recorded_from
    FROM facts;
