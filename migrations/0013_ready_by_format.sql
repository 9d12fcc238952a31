-- A program asks which routes have parcels that it can lease. A route whose ready parcels are all a newer program's was
-- among them, and was asked for one at every poll, in vain. The format stands before the time here, so that the answer
-- costs as little where a hundred thousand of the others wait.
-- oldest program: 0001
CREATE INDEX parcels_ready ON parcels (route_id, format, priority, due_at) WHERE state = 1;
