-- A message with words in several languages reads its members' locales where their tokens are read; the others don't pay
-- for it.
-- oldest program: 0001
ALTER TABLE messages ADD COLUMN reads_locale boolean NOT NULL DEFAULT false;
