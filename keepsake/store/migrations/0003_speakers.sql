-- Who has spoken in a user's memory, where messages name their speakers.
CREATE TABLE speakers (
    user_id INTEGER NOT NULL REFERENCES users,
    name TEXT NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO speakers SELECT DISTINCT user_id, sender FROM messages WHERE sender IS NOT NULL;
