-- The whole first schema. Times are microseconds since 1970, UTC (keepsake.clock).

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    user_id INTEGER PRIMARY KEY,
    handle TEXT NOT NULL UNIQUE,                -- random name of the vector collection: says nothing about the person
    language TEXT,
    fact_cursor INTEGER NOT NULL DEFAULT 0,     -- the last message that extraction has read
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    started_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    ended_at INTEGER,                           -- NULL while it is the open one
    message_count INTEGER NOT NULL DEFAULT 0,
    term_count INTEGER NOT NULL DEFAULT 0,      -- keywords in those messages: with message_count, their mean length
    summary TEXT
) STRICT;
CREATE INDEX sessions_of_user ON sessions (user_id, id);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    session_id INTEGER NOT NULL REFERENCES sessions,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    sender TEXT,
    sender_id TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_user ON messages (user_id, id);

-- What the keyword index is made from: its terms, joined by spaces, each behind its owner's id, and how many.
-- Kept beside the index because FTS5 needs a row's old terms to take them out again.
CREATE TABLE keywords (
    message_id INTEGER PRIMARY KEY REFERENCES messages,
    user_id INTEGER NOT NULL REFERENCES users,
    terms TEXT NOT NULL,
    length INTEGER NOT NULL
) STRICT;
CREATE INDEX keywords_of_user ON keywords (user_id);
CREATE VIRTUAL TABLE keyword_index USING fts5 (
    terms, content='keywords', content_rowid='message_id', columnsize=0, detail=full,
    tokenize="ascii tokenchars '_.-:@'"
);
-- Reads that index by exact term: one row for each place where a term stands.
CREATE VIRTUAL TABLE keyword_places USING fts5vocab (keyword_index, instance);
CREATE VIRTUAL TABLE keyword_counts USING fts5vocab (keyword_index, row);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users,
    kind TEXT NOT NULL CHECK (kind IN ('message', 'fact')),
    item_id INTEGER NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,                       -- float32, little endian, unit length
    in_chroma INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, kind, item_id)
) STRICT;
CREATE INDEX embeddings_pending ON embeddings (user_id) WHERE in_chroma = 0;

-- Messages and facts that have no vector of the present model yet.
CREATE TABLE vector_queue (
    user_id INTEGER NOT NULL REFERENCES users,
    kind TEXT NOT NULL CHECK (kind IN ('message', 'fact')),
    item_id INTEGER NOT NULL,
    PRIMARY KEY (user_id, kind, item_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active',
    origin TEXT NOT NULL,
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    vital INTEGER NOT NULL DEFAULT 0,
    hits INTEGER NOT NULL DEFAULT 0,
    subject TEXT,
    predicate TEXT,
    object TEXT,
    topic TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_hit_at INTEGER,
    valid_from INTEGER,
    valid_until INTEGER,
    recorded_from INTEGER NOT NULL,
    recorded_until INTEGER,
    quote TEXT,
    model TEXT,
    prompt_version TEXT
) STRICT;
CREATE INDEX facts_of_user ON facts (user_id, status);

CREATE TABLE fact_sources (
    fact_id INTEGER NOT NULL REFERENCES facts,
    message_id INTEGER NOT NULL REFERENCES messages,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (fact_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fact_sources_of_user ON fact_sources (user_id);
CREATE INDEX fact_sources_of_message ON fact_sources (message_id);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    user_id INTEGER,
    key TEXT NOT NULL,                          -- what makes two waiting jobs the same work
    payload TEXT NOT NULL DEFAULT '{}',
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    run_after INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    result TEXT
) STRICT;
-- A running job may be joined by one waiting one: what arrives while it runs must not be missed.
CREATE UNIQUE INDEX jobs_waiting_once ON jobs (kind, key) WHERE state = 'waiting';
CREATE INDEX jobs_due ON jobs (state, kind, run_after);
CREATE INDEX jobs_of_user ON jobs (user_id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    question_id INTEGER,
    answer_id INTEGER,
    model TEXT NOT NULL,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    latency_ms INTEGER NOT NULL,
    error TEXT,
    memories TEXT NOT NULL DEFAULT '[]',        -- [kind, id, score] of each memory in the prompt
    rating INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_of_user ON events (user_id, id);
