-- Who has asked that nothing they say is kept. A row stays when that is over: edits of what was said may still come.
CREATE TABLE privacy (
    user_id INTEGER PRIMARY KEY REFERENCES users,
    paused_at INTEGER,                          -- NULL where it is not paused
    incognito_at INTEGER                        -- NULL where no conversation is incognito
) STRICT;
