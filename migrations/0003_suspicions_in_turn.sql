-- A doubt about a token is looked at when its time has come, by one process, and goes once it is judged; until here
-- those that their window had not confirmed stayed for ever, and every process read all of them again and again.
-- doubted_at: when the token was last doubted again. The index by age serves programs before this one; it goes later.
-- oldest program: 0001
ALTER TABLE suspicions ADD COLUMN doubted_at timestamptz, ADD COLUMN look_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX suspicions_in_turn ON suspicions (look_at, registration_id);
