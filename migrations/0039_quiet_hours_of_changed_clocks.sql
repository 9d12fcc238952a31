-- Quiet hours begin when a clock shows their hour for the first time, where it comes twice or is left out (decision 0026):
-- nights in which clocks are changed left up to an hour of them open.
-- oldest program: 0001

-- Until when the hours from one to the other last, on a clock in a zone, where they have begun; null: they have not.
-- Of a zone that is not known here the other's clock is read.
--
-- Both ends are hours as `instant_of_hour` finds them: one that comes twice is the second, one that is left out comes an
-- hour later. Before that the begin is looked for by what was an hour before it, which finds the first of two, and by
-- what comes an hour after it, which finds one left out as if the clocks had been changed already. By an hour, that is: on
-- Lord Howe Island, where they change by half of one, these nights begin half an hour early.
CREATE OR REPLACE FUNCTION quiet_until(instant timestamptz, hour_from time, hour_to time, zone text, other_zone text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT span.ended
    FROM (SELECT (instant AT TIME ZONE 'UTC')::date AS today, CASE
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', zone) IS NOT NULL THEN zone
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', other_zone) IS NOT NULL THEN other_zone
            ELSE 'UTC' END AS zone) AS clock
    -- Yesterday's hours may last still, and the date there is at most one day off.
    CROSS JOIN generate_series(-2, 1) AS away
    CROSS JOIN LATERAL (SELECT clock.today + away + hour_from AS shown,
        instant_of_hour(clock.today + away + hour_from, clock.zone) AS began,
        instant_of_hour(clock.today + away + (hour_to <= hour_from)::integer + hour_to, clock.zone) AS ended) AS span
    WHERE instant < span.ended AND CASE
        WHEN instant >= span.began THEN true
        WHEN instant < span.began - interval '1 hour' THEN false
        ELSE instant >= least(
            instant_of_hour(span.shown - interval '1 hour', clock.zone) + interval '1 hour',
            instant_of_hour(span.shown + interval '1 hour', clock.zone) - interval '1 hour') END
    ORDER BY span.ended DESC LIMIT 1
$$;
