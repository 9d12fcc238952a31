-- An app may have quiet hours, and a cap on how many messages a person gets a day (decision 0026).
-- oldest program: 0001
LOCK TABLE parcels, messages IN ACCESS EXCLUSIVE MODE;

-- uncounted: a bitmap over the members, set where the badge mark does not speak of one: held back whenever it was leased.
-- null: of all.
ALTER TABLE parcels ADD COLUMN uncounted bytea;
-- Which of its app's limits don't count for it: 1 quiet hours, 2 the cap.
ALTER TABLE messages ADD COLUMN ignored_limits smallint NOT NULL DEFAULT 0 CHECK (ignored_limits BETWEEN 0 AND 3);

-- What a person got on a day of the app's clock: so many messages at most as the app's cap allows. who: 'user:' and the
-- registrations' user, or 'device:' and the id of one without. No foreign key: rows of a deleted app go with their day.
CREATE TABLE user_days (
    day      date   NOT NULL,
    app_id   bigint NOT NULL,
    who      text   COLLATE "C" NOT NULL,
    messages uuid[] NOT NULL,
    PRIMARY KEY (day, app_id, who)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);

-- Until when the hours from one to the other last, on a clock in a zone, where they have begun; null: they have not.
-- Of a zone that is not known here the other's clock is read. Both ends are hours as `instant_of_hour` finds them, so
-- that they fit together when clocks are changed.
CREATE FUNCTION quiet_until(instant timestamptz, hour_from time, hour_to time, zone text, other_zone text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT span.ended
    FROM (SELECT (instant AT TIME ZONE 'UTC')::date AS today, CASE
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', zone) IS NOT NULL THEN zone
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', other_zone) IS NOT NULL THEN other_zone
            ELSE 'UTC' END AS zone) AS clock
    -- Yesterday's hours may last still, and the date there is at most one day off.
    CROSS JOIN generate_series(-2, 1) AS away
    CROSS JOIN LATERAL (SELECT instant_of_hour(clock.today + away + hour_from, clock.zone) AS began,
        instant_of_hour(clock.today + away + (hour_to <= hour_from)::integer + hour_to, clock.zone) AS ended) AS span
    WHERE instant >= span.began AND instant < span.ended
    ORDER BY span.ended DESC LIMIT 1
$$;

-- Which day it is on a clock in a zone; of one that is not known here, in Greenwich.
CREATE FUNCTION day_of(instant timestamptz, zone text) RETURNS date LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(day), (instant AT TIME ZONE 'UTC')::date)
    FROM generate_series(-1, 1) AS away
    CROSS JOIN LATERAL (SELECT (instant AT TIME ZONE 'UTC')::date + away AS day) AS today
    WHERE instant_of_hour(day + time '00:00', zone) <= instant
$$;
