-- Tokens that models took for a user: their answers, and what was drawn from what they said.
CREATE TABLE usage (
    user_id INTEGER NOT NULL REFERENCES users,
    day TEXT NOT NULL,                          -- YYYY-MM-DD, UTC
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    estimated INTEGER NOT NULL,                 -- how many of those were reckoned: the endpoint did not say
    PRIMARY KEY (user_id, day, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_of_day ON usage (day);
