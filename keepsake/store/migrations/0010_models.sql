-- What answers and refusals have taught about chat models. No personal data.
CREATE TABLE models (
    name TEXT PRIMARY KEY,
    factor REAL NOT NULL,                       -- tokens of its own for one of the table it is counted with
    answers INTEGER NOT NULL,
    context_limit INTEGER,                      -- tokens that a request may have, once one was refused as too long
    limited_at INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;
