-- Messages that have left for the archive: encrypted Parquet files, a set of them for each person.

-- Destroyed with its person: what was encrypted with it is noise from then on, wherever a copy of it may lie.
CREATE TABLE archive_keys (
    user_id INTEGER PRIMARY KEY REFERENCES users,
    key TEXT NOT NULL                           -- 32 random bytes, in hexadecimal
) STRICT;

CREATE TABLE archive_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER,                            -- NULL once the person was erased
    name TEXT NOT NULL UNIQUE,                  -- random
    -- writing: noted before a byte of it is written; kept: holds messages that are here no more; doomed: it is to go
    state TEXT NOT NULL CHECK (state IN ('writing', 'kept', 'doomed')),
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX archive_files_of_user ON archive_files (user_id);

CREATE TABLE archived_messages (
    message_id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users,
    file_id INTEGER NOT NULL REFERENCES archive_files,
    key TEXT,                                   -- as in message_keys
    said_at INTEGER NOT NULL,
    -- what its file is to be written anew for
    wish TEXT CHECK (wish IN ('remove', 'edit')),
    text TEXT                                   -- of an edit, until then
) STRICT;
CREATE INDEX archived_messages_of_user ON archived_messages (user_id);
CREATE INDEX archived_messages_of_file ON archived_messages (file_id);
CREATE UNIQUE INDEX archived_messages_by_key ON archived_messages (user_id, key) WHERE key IS NOT NULL;

-- As fact_sources, for messages that have left.
CREATE TABLE archived_sources (
    fact_id INTEGER NOT NULL REFERENCES facts ON DELETE CASCADE,
    message_id INTEGER NOT NULL REFERENCES archived_messages ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (fact_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX archived_sources_of_user ON archived_sources (user_id);
CREATE INDEX archived_sources_of_message ON archived_sources (message_id);

ALTER TABLE sessions ADD COLUMN archived_count INTEGER NOT NULL DEFAULT 0;  -- of its messages, those that have left
CREATE INDEX messages_by_time ON messages (user_id, created_at);

-- What a summary says of a message that only moves stays.
DROP TRIGGER summary_of_an_erased_message;
CREATE TRIGGER summary_of_an_erased_message AFTER DELETE ON messages
WHEN NOT EXISTS (SELECT 1 FROM archived_messages WHERE message_id = OLD.id) BEGIN
    UPDATE summaries SET content = NULL, revision = revision + 1
        WHERE user_id = OLD.user_id AND first_id <= OLD.id AND last_id >= OLD.id;
    INSERT OR IGNORE INTO jobs (kind, user_id, key, run_after, created_at)
        SELECT 'summarise', OLD.user_id, CAST(OLD.user_id AS TEXT), 0, 0 WHERE changes() > 0;
END;
-- The same for a message that is taken out of the archive, or changed there.
CREATE TRIGGER summary_of_a_changed_archived_message AFTER UPDATE OF wish ON archived_messages
WHEN NEW.wish IS NOT NULL BEGIN
    UPDATE summaries SET content = NULL, revision = revision + 1
        WHERE user_id = OLD.user_id AND first_id <= OLD.message_id AND last_id >= OLD.message_id;
    INSERT OR IGNORE INTO jobs (kind, user_id, key, run_after, created_at)
        SELECT 'summarise', OLD.user_id, CAST(OLD.user_id AS TEXT), 0, 0 WHERE changes() > 0;
END;
