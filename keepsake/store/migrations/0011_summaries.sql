-- Runs of older messages and what they came to. A row without content waits for the job `summarise`.
CREATE TABLE summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    first_id INTEGER NOT NULL,                  -- the messages: all of the user's from here
    last_id INTEGER NOT NULL,                   -- to here
    said_at INTEGER NOT NULL,                   -- when the last of them was said
    revision INTEGER NOT NULL DEFAULT 0,        -- goes up when one of the messages changes
    content TEXT,
    model TEXT,                                 -- NULL where no model made it
    prompt_version TEXT,
    made_at INTEGER,
    UNIQUE (user_id, first_id)
) STRICT;

-- However a message changes or goes: what a summary says of it goes at once, and is made anew.
CREATE TRIGGER summary_of_an_edited_message AFTER UPDATE OF content ON messages BEGIN
    UPDATE summaries SET content = NULL, revision = revision + 1
        WHERE user_id = OLD.user_id AND first_id <= OLD.id AND last_id >= OLD.id;
    INSERT OR IGNORE INTO jobs (kind, user_id, key, run_after, created_at)
        SELECT 'summarise', OLD.user_id, CAST(OLD.user_id AS TEXT), 0, 0 WHERE changes() > 0;
END;
CREATE TRIGGER summary_of_an_erased_message AFTER DELETE ON messages BEGIN
    UPDATE summaries SET content = NULL, revision = revision + 1
        WHERE user_id = OLD.user_id AND first_id <= OLD.id AND last_id >= OLD.id;
    INSERT OR IGNORE INTO jobs (kind, user_id, key, run_after, created_at)
        SELECT 'summarise', OLD.user_id, CAST(OLD.user_id AS TEXT), 0, 0 WHERE changes() > 0;
END;
