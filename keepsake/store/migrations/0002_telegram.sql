-- What came from Telegram and what goes back. An update stands here before Telegram is told that it arrived.

CREATE TABLE inbox (
    update_id INTEGER PRIMARY KEY,
    chat_id INTEGER,                            -- with thread_id: the lane; NULL where an update belongs to no chat
    thread_id INTEGER,
    user_id INTEGER,
    payload TEXT,                               -- the update, JSON as Telegram sent it; NULL once it is done
    received_at INTEGER NOT NULL,
    done_at INTEGER
) STRICT;
CREATE INDEX inbox_undone ON inbox (update_id) WHERE done_at IS NULL;
CREATE INDEX inbox_of_user ON inbox (user_id);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    update_id INTEGER NOT NULL,                 -- what it answers
    name TEXT NOT NULL,                         -- which of the messages that answer that update
    user_id INTEGER NOT NULL,
    chat_id INTEGER NOT NULL,
    thread_id INTEGER,
    payload TEXT,                               -- text, entities and buttons as JSON; NULL once it is sent
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sending', 'sent', 'lost', 'refused')),
    telegram_id INTEGER,                        -- its number in the chat, once Telegram has told
    message_id INTEGER REFERENCES messages,     -- the message in memory that it shows, where there is one
    created_at INTEGER NOT NULL,
    UNIQUE (update_id, name)
) STRICT;
CREATE INDEX outbox_of_user ON outbox (user_id);
CREATE INDEX outbox_of_message ON outbox (message_id);

-- The names that others have for a message: one with the same key is stored once.
CREATE TABLE message_keys (
    user_id INTEGER NOT NULL REFERENCES users,
    key TEXT NOT NULL,
    message_id INTEGER NOT NULL REFERENCES messages,
    PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_keys_of_message ON message_keys (message_id);
