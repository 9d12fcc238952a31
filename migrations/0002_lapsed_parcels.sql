-- Parcels whose leases lapsed twice travel alone: each poll asks which routes have such, and must not read the others.
-- oldest program: 0001
CREATE INDEX parcels_lapsed ON parcels (route_id, priority, due_at, id) WHERE state = 1 AND lapses >= 2;
