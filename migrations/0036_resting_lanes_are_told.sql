-- Whoever follows a message sees that its pushes wait since their provider asks for less (decision 0040): a lane that
-- rests is told of like one that can't reach its provider, with the time when it is tried again.
-- oldest program: 0001

-- NULL: the provider can't be reached. A program before says so of lanes that rest, too, with the reason that is told.
ALTER TABLE lane_outages ADD COLUMN rests_until timestamptz;
