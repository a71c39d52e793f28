-- What a user has had forgotten, so that it is not learned again. No words of it: keyed hashes (keepsake.forgetting.seal).
CREATE TABLE tombstones (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES users,
    made_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstones_of_user ON tombstones (user_id);

CREATE TABLE tombstone_marks (
    tombstone_id INTEGER NOT NULL REFERENCES tombstones ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN
        ('claim',                               -- one of these: it says what was forgotten
         'slot',                                -- so does this, in a fact drawn from the same messages
         'word')),                              -- all of these in a message: it tells what was forgotten
    digest BLOB NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (tombstone_id, kind, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_marks_of_user ON tombstone_marks (user_id, kind, digest);

-- The messages that tell it and are kept: summaries are made without them.
CREATE TABLE forgotten_sources (
    tombstone_id INTEGER NOT NULL REFERENCES tombstones ON DELETE CASCADE,
    message_id INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (tombstone_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX forgotten_sources_of_user ON forgotten_sources (user_id, message_id);
CREATE INDEX forgotten_sources_of_message ON forgotten_sources (message_id);
