-- What a model called the topics of a person's facts; facts.topic holds the slug. A fact without a row here belongs to
-- the topic that its predicate or category gives (keepsake/facts/topics.py), which is kept nowhere.
CREATE TABLE topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    slug TEXT NOT NULL,
    title TEXT,                                 -- NULL: the one that its facts give
    hook TEXT,                                  -- NULL: made from its facts
    made_by TEXT NOT NULL CHECK (made_by IN ('extraction', 'hand', 'dream')),
    made_at INTEGER NOT NULL,
    UNIQUE (user_id, slug)
) STRICT;

-- A fact that is removed for good while it held was forgotten: the words of its topic may be those of the fact.
CREATE TRIGGER topic_of_a_forgotten_fact AFTER DELETE ON facts
WHEN OLD.topic IS NOT NULL AND OLD.status NOT IN ('merged', 'superseded') BEGIN
    DELETE FROM topics WHERE user_id = OLD.user_id AND slug = OLD.topic;
    UPDATE facts SET topic = NULL WHERE user_id = OLD.user_id AND topic = OLD.topic;
END;

-- A person's consolidations: how far the last one read, and who is at work on one now.
CREATE TABLE dreams (
    user_id INTEGER PRIMARY KEY REFERENCES users,
    read_to INTEGER NOT NULL DEFAULT 0,         -- the last message that was read
    session_id INTEGER NOT NULL DEFAULT 0,      -- and its session
    ended_at INTEGER,                           -- when the last one ended well
    held_by INTEGER,                            -- the job that works on one
    held_until INTEGER,                         -- after that the job is taken for dead
    report TEXT                                 -- what the last one changed: numbers and ids, no words
) STRICT;
