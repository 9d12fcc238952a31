-- An app names its topics itself, one in each registration, and each makes a route, which every process walks at every
-- poll: without a bound one app could hold up the deliveries of all. number: the how-manieth of its app; null for routes
-- of programs before this one, which count all the same.
-- oldest program: 0001
ALTER TABLE routes ADD COLUMN number integer, ADD CONSTRAINT routes_per_app CHECK (number <= 1000);
