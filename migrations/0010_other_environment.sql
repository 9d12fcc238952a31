-- A token of APNs that was registered in the wrong environment is found: what its own environment doesn't know is tried
-- once in the other one, and where that takes it, it is remembered.
-- oldest program: 0001
--
-- For that every route of APNs has a twin, in the other environment; triggers keep it so, also for programs before this
-- one. A twin has the number 0, and does not count among an app's topics.

-- Two routes of one app at once, each the other's twin, would wait for each other: they come one after the other.
CREATE FUNCTION routes_in_turn() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM apps WHERE id = NEW.app_id FOR NO KEY UPDATE;
    RETURN NEW;
END $$;
CREATE TRIGGER routes_in_turn BEFORE INSERT ON routes
    FOR EACH ROW WHEN (NEW.provider = 1) EXECUTE FUNCTION routes_in_turn();

-- Looks before it writes, since a conflict would cost an id.
CREATE FUNCTION routes_get_twins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO routes (app_id, provider, environment, topic, number)
    SELECT NEW.app_id, NEW.provider, 3 - NEW.environment, NEW.topic, 0
    WHERE NOT EXISTS (
        SELECT FROM routes WHERE app_id = NEW.app_id AND provider = NEW.provider
            AND environment = 3 - NEW.environment AND topic = NEW.topic)
    ON CONFLICT (app_id, provider, environment, topic) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER routes_get_twins AFTER INSERT ON routes
    FOR EACH ROW WHEN (NEW.provider = 1) EXECUTE FUNCTION routes_get_twins();

INSERT INTO routes (app_id, provider, environment, topic, number)
SELECT app_id, provider, 3 - environment, topic, 0 FROM routes WHERE provider = 1 ORDER BY id
ON CONFLICT (app_id, provider, environment, topic) DO NOTHING;

-- environments_compared: the generation of the token for which both environments were asked; it is not done again.
-- mistaken_route_id: where that found the token elsewhere than it was registered, the route that was named. Both mean
-- nothing for another generation. No foreign key: routes go with their app alone.
ALTER TABLE registrations ADD COLUMN environments_compared integer, ADD COLUMN mistaken_route_id bigint;

-- A parcel whose members are tried away from home: the route that refused them, the generation of their tokens there,
-- its word for it, and until when an answer is waited for. Their formats, 1000 above those of their messages, keep
-- programs before this one from leasing them: they would hand them back home, and get them again.
ALTER TABLE parcels
    ADD COLUMN home_route_id   bigint,
    ADD COLUMN home_generation integer,
    ADD COLUMN home_reason     text,
    ADD COLUMN home_until      timestamptz,
    ADD CONSTRAINT away_from_home CHECK (
        num_nonnulls(home_route_id, home_generation, home_reason, home_until) = CASE WHEN format >= 1000 THEN 4 ELSE 0 END);
