-- Local times and daily counts: local send times, quiet hours and daily caps (decisions 0024 and 0026).

-- The current names of time zones, by their old names in lower case. A PostgreSQL without the package tzdata-legacy does
-- not know Asia/Calcutta, and every PostgreSQL reads CET as an abbreviation, which has no summer time.
--
-- Source: the links of IANA's file backward, 2025b, and two that earlier editions had. TimeZoneName+List.swift has the
-- same names.
CREATE FUNCTION zone_links() RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT '{
        "africa/asmera": "Africa/Nairobi", "africa/timbuktu": "Africa/Abidjan",
        "america/argentina/comodrivadavia": "America/Argentina/Catamarca", "america/atka": "America/Adak",
        "america/buenos_aires": "America/Argentina/Buenos_Aires", "america/catamarca": "America/Argentina/Catamarca",
        "america/coral_harbour": "America/Panama", "america/cordoba": "America/Argentina/Cordoba",
        "america/ensenada": "America/Tijuana", "america/fort_wayne": "America/Indiana/Indianapolis",
        "america/godthab": "America/Nuuk", "america/indianapolis": "America/Indiana/Indianapolis",
        "america/jujuy": "America/Argentina/Jujuy", "america/knox_in": "America/Indiana/Knox",
        "america/kralendijk": "America/Puerto_Rico", "america/louisville": "America/Kentucky/Louisville",
        "america/lower_princes": "America/Puerto_Rico", "america/marigot": "America/Puerto_Rico",
        "america/mendoza": "America/Argentina/Mendoza", "america/montreal": "America/Toronto",
        "america/nipigon": "America/Toronto", "america/pangnirtung": "America/Iqaluit",
        "america/porto_acre": "America/Rio_Branco", "america/rainy_river": "America/Winnipeg",
        "america/rosario": "America/Argentina/Cordoba", "america/santa_isabel": "America/Tijuana",
        "america/shiprock": "America/Denver", "america/st_barthelemy": "America/Puerto_Rico",
        "america/thunder_bay": "America/Toronto", "america/virgin": "America/Puerto_Rico",
        "america/yellowknife": "America/Edmonton", "antarctica/south_pole": "Pacific/Auckland",
        "arctic/longyearbyen": "Europe/Berlin", "asia/ashkhabad": "Asia/Ashgabat", "asia/calcutta": "Asia/Kolkata",
        "asia/choibalsan": "Asia/Ulaanbaatar", "asia/chongqing": "Asia/Shanghai", "asia/chungking": "Asia/Shanghai",
        "asia/dacca": "Asia/Dhaka", "asia/harbin": "Asia/Shanghai", "asia/istanbul": "Europe/Istanbul",
        "asia/kashgar": "Asia/Urumqi", "asia/katmandu": "Asia/Kathmandu", "asia/macao": "Asia/Macau",
        "asia/rangoon": "Asia/Yangon", "asia/saigon": "Asia/Ho_Chi_Minh", "asia/tel_aviv": "Asia/Jerusalem",
        "asia/thimbu": "Asia/Thimphu", "asia/ujung_pandang": "Asia/Makassar", "asia/ulan_bator": "Asia/Ulaanbaatar",
        "atlantic/faeroe": "Atlantic/Faroe", "atlantic/jan_mayen": "Europe/Berlin",
        "australia/act": "Australia/Sydney", "australia/canberra": "Australia/Sydney",
        "australia/currie": "Australia/Hobart", "australia/lhi": "Australia/Lord_Howe",
        "australia/north": "Australia/Darwin", "australia/nsw": "Australia/Sydney",
        "australia/queensland": "Australia/Brisbane", "australia/south": "Australia/Adelaide",
        "australia/tasmania": "Australia/Hobart", "australia/victoria": "Australia/Melbourne",
        "australia/west": "Australia/Perth", "australia/yancowinna": "Australia/Broken_Hill",
        "brazil/acre": "America/Rio_Branco", "brazil/denoronha": "America/Noronha", "brazil/east": "America/Sao_Paulo",
        "brazil/west": "America/Manaus", "canada/atlantic": "America/Halifax", "canada/central": "America/Winnipeg",
        "canada/east-saskatchewan": "America/Regina", "canada/eastern": "America/Toronto",
        "canada/mountain": "America/Edmonton", "canada/newfoundland": "America/St_Johns",
        "canada/pacific": "America/Vancouver", "canada/saskatchewan": "America/Regina",
        "canada/yukon": "America/Whitehorse", "cet": "Europe/Brussels", "chile/continental": "America/Santiago",
        "chile/easterisland": "Pacific/Easter", "cst6cdt": "America/Chicago", "cuba": "America/Havana",
        "eet": "Europe/Athens", "egypt": "Africa/Cairo", "eire": "Europe/Dublin", "est": "America/Panama",
        "est5edt": "America/New_York", "etc/gmt+0": "Etc/GMT", "etc/gmt-0": "Etc/GMT", "etc/gmt0": "Etc/GMT",
        "etc/greenwich": "Etc/GMT", "etc/uct": "Etc/UTC", "etc/universal": "Etc/UTC", "etc/zulu": "Etc/UTC",
        "europe/belfast": "Europe/London", "europe/bratislava": "Europe/Prague", "europe/busingen": "Europe/Zurich",
        "europe/kiev": "Europe/Kyiv", "europe/mariehamn": "Europe/Helsinki", "europe/nicosia": "Asia/Nicosia",
        "europe/podgorica": "Europe/Belgrade", "europe/san_marino": "Europe/Rome",
        "europe/tiraspol": "Europe/Chisinau", "europe/uzhgorod": "Europe/Kyiv", "europe/vatican": "Europe/Rome",
        "europe/zaporozhye": "Europe/Kyiv", "gb": "Europe/London", "gb-eire": "Europe/London", "gmt": "Etc/GMT",
        "gmt+0": "Etc/GMT", "gmt-0": "Etc/GMT", "gmt0": "Etc/GMT", "greenwich": "Etc/GMT",
        "hongkong": "Asia/Hong_Kong", "hst": "Pacific/Honolulu", "iceland": "Africa/Abidjan", "iran": "Asia/Tehran",
        "israel": "Asia/Jerusalem", "jamaica": "America/Jamaica", "japan": "Asia/Tokyo",
        "kwajalein": "Pacific/Kwajalein", "libya": "Africa/Tripoli", "met": "Europe/Brussels",
        "mexico/bajanorte": "America/Tijuana", "mexico/bajasur": "America/Mazatlan",
        "mexico/general": "America/Mexico_City", "mst": "America/Phoenix", "mst7mdt": "America/Denver",
        "navajo": "America/Denver", "nz": "Pacific/Auckland", "nz-chat": "Pacific/Chatham",
        "pacific/enderbury": "Pacific/Kanton", "pacific/johnston": "Pacific/Honolulu",
        "pacific/ponape": "Pacific/Guadalcanal", "pacific/samoa": "Pacific/Pago_Pago",
        "pacific/truk": "Pacific/Port_Moresby", "pacific/yap": "Pacific/Port_Moresby", "poland": "Europe/Warsaw",
        "portugal": "Europe/Lisbon", "prc": "Asia/Shanghai", "pst8pdt": "America/Los_Angeles", "roc": "Asia/Taipei",
        "rok": "Asia/Seoul", "singapore": "Asia/Singapore", "turkey": "Europe/Istanbul", "uct": "Etc/UTC",
        "universal": "Etc/UTC", "us/alaska": "America/Anchorage", "us/aleutian": "America/Adak",
        "us/arizona": "America/Phoenix", "us/central": "America/Chicago",
        "us/east-indiana": "America/Indiana/Indianapolis", "us/eastern": "America/New_York",
        "us/hawaii": "Pacific/Honolulu", "us/indiana-starke": "America/Indiana/Knox", "us/michigan": "America/Detroit",
        "us/mountain": "America/Denver", "us/pacific": "America/Los_Angeles", "us/pacific-new": "America/Los_Angeles",
        "us/samoa": "Pacific/Pago_Pago", "utc": "Etc/UTC", "w-su": "Europe/Moscow", "wet": "Europe/Lisbon",
        "zulu": "Etc/UTC"
    }'::jsonb
$$;

-- The instant at which a clock in a zone shows a local time; null: the zone is not known here. A time that is skipped
-- in spring counts as if the clocks had not been changed yet (02:30 shows as 03:30). A time that occurs twice in autumn
-- means the second one.
--
-- Only names of zones are accepted, and GMT+03:00, which is how phones write a clock that was set by hand. The server
-- would read IST as Israel's, which phones in India mean otherwise. It would read GMT+3, by POSIX, as three hours west
-- of Greenwich. A name without a slash may be an abbreviation to the server, so the zone's current name is used.
CREATE FUNCTION instant_of_hour(hour timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE
    in_utc    CONSTANT timestamptz := hour AT TIME ZONE 'UTC';
    candidate text;
    instant   timestamptz;
BEGIN
    IF zone ~* '^(gmt|utc)[+-][01][0-9]:?[0-5][0-9]$' THEN
        instant := in_utc - (substr(zone, 4, 3) || ':' || right(zone, 2))::interval;
    ELSE
        FOREACH candidate IN ARRAY ARRAY[
            CASE WHEN zone ~* '^[a-z_-]+(/[a-z_-]+)+$|^etc/(gmt|utc)[+-]?[0-9]{0,2}$' THEN zone END,
            zone_links() ->> lower(zone)]
        LOOP
            BEGIN
                instant := hour AT TIME ZONE candidate;
            EXCEPTION WHEN invalid_parameter_value THEN
                -- The server does not know this name.
            END;
            EXIT WHEN instant IS NOT NULL;
        END LOOP;
    END IF;
    -- No clock on earth is further from UTC; planning and retention of messages rely on that.
    RETURN CASE WHEN instant BETWEEN in_utc - interval '14 hours' AND in_utc + interval '12 hours' THEN instant END;
END $$;

-- The end of the quiet hours from one local time to another, on a clock in a zone; null: they have not begun. If the
-- zone is not known here, the other zone's clock is used.
--
-- Both ends are found by instant_of_hour: a time that occurs twice is the second, a skipped one comes an hour later.
-- The begin is also looked for by the time an hour before it, which finds the first of two. The time an hour after it
-- finds a skipped one as if the clocks had been changed already. Both use a whole hour: on Lord Howe Island, where
-- clocks change by half an hour, these nights begin half an hour early.
CREATE FUNCTION quiet_until(instant timestamptz, hour_from time, hour_to time, zone text, other_zone text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT span.ended
    FROM (SELECT (instant AT TIME ZONE 'UTC')::date AS today, CASE
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', zone) IS NOT NULL THEN zone
            WHEN instant_of_hour(instant AT TIME ZONE 'UTC', other_zone) IS NOT NULL THEN other_zone
            ELSE 'UTC' END AS zone) AS clock
    -- Yesterday's quiet hours may still last, and the local date is at most one day off.
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

-- The day on a clock in a zone, or in Greenwich if the zone is not known here.
CREATE FUNCTION day_of(instant timestamptz, zone text) RETURNS date LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(day), (instant AT TIME ZONE 'UTC')::date)
    FROM generate_series(-1, 1) AS away
    CROSS JOIN LATERAL (SELECT (instant AT TIME ZONE 'UTC')::date + away AS day) AS today
    WHERE instant_of_hour(day + time '00:00', zone) <= instant
$$;

-- The messages that a user got on a day of the app's clock, at most as many as the app's cap allows. who is 'user:' and
-- the registrations' user, or 'device:' and the id of a registration without one. There is no foreign key: rows of a
-- deleted app are deleted with their day.
CREATE TABLE user_days (
    day      date   NOT NULL,
    app_id   bigint NOT NULL,
    who      text   COLLATE "C" NOT NULL,
    messages uuid[] NOT NULL,
    PRIMARY KEY (day, app_id, who)
) WITH (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    vacuum_index_cleanup = on);
