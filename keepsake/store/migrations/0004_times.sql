-- Messages of a user by when they were said, for questions that name a time.
CREATE INDEX messages_by_time ON messages (user_id, created_at);
