-- A route's minutes tell how many of its tokens the other environment took: where those are too many, none of them moves.
-- oldest program: 0001
--
-- Programs before this one leave it at nothing, and move whatever they find.
ALTER TABLE route_minutes ADD COLUMN found bigint NOT NULL DEFAULT 0;
