import Model
import TestSupport
import Testing

extension Journeys {
    @Suite("Broadcasts whose audiences take long to plan")
    struct CostlyAudienceTests {
        /// Every slice of a broadcast waits while the gate is shut, or until the gateway cancels it, which is counted.
        /// Each check of the gate has its own snapshot; a transaction caches whether a table exists.
        private static let gate = """
            CREATE TABLE open_gates ();
            CREATE SEQUENCE given_up;
            CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                WHILE NOT EXISTS (SELECT FROM open_gates) LOOP PERFORM pg_sleep(0.01); END LOOP;
                RETURN NEW;
            EXCEPTION WHEN query_canceled THEN
                PERFORM nextval('given_up');
                RAISE;
            END $$;
            CREATE TRIGGER wait_at_gate BEFORE INSERT ON parcels FOR EACH ROW
                WHEN (NEW.priority = \(MessageUrgency.bulk.rawValue)) EXECUTE FUNCTION wait_at_gate();
            """
        /// The first slice of a message is written at once, and the others wait while the gate is shut.
        private static let gateBehindFirst = """
            CREATE TABLE open_gates ();
            CREATE TABLE first_slices (is_told boolean PRIMARY KEY DEFAULT true, transaction bigint);
            CREATE FUNCTION wait_behind_first() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO first_slices (transaction) VALUES (txid_current()) ON CONFLICT DO NOTHING;
                WHILE (SELECT transaction FROM first_slices) <> txid_current()
                    AND NOT EXISTS (SELECT FROM open_gates) LOOP PERFORM pg_sleep(0.01); END LOOP;
                RETURN NEW;
            END $$;
            CREATE TRIGGER wait_behind_first BEFORE INSERT ON parcels FOR EACH ROW EXECUTE FUNCTION wait_behind_first();
            """
        private static let opensGate = "INSERT INTO open_gates DEFAULT VALUES"
        private static let status = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
            """
        private static let givenUp = "SELECT count(*) FROM given_up WHERE is_called"
        private static let broadcasts = 4

        @Test("send to the devices that are found while planning continues")
        func whileFinding() async throws {
            let devices = [Device](.live, 4_000)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, devices, through: gateway)
                try await world.database { pool in try await pool.script(Self.gateBehindFirst) }
                let message = try await gateway.broadcast(.garden)
                try await eventually("a planner to wait for the lock") {
                    try await world.database { pool in try await pool.number(Self.status) == 1 }
                }
                try await world.production.accepted(atLeast: 2_000)
                #expect(try await gateway.account(message, of: .garden).state == "planning")
                try await world.database { pool in try await pool.script(Self.opensGate) }
                #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": devices.count])
                try await gateway.stopGently()
            }
        }

        @Test("delay no message to a single device")
        func beside() async throws {
            let devices = [Device](.live, 40)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, devices, through: gateway)
                try await world.database { pool in try await pool.script(Self.gate) }
                var messages: [String] = []
                for _ in 1...Self.broadcasts { messages.append(try await gateway.broadcast(.garden)) }
                try await eventually("all planners to wait for the lock") {
                    try await world.database { pool in
                        try await pool.number(
                            Self.status) == 3
                    }
                }
                for (turn, device) in devices.enumerated() {
                    let single = try await gateway.send(
                        .garden,
                        """
                        {"audience": {"installations": ["\(device.installation)"]},
                         "notification": {"body": "\(World.text)"}}
                        """)[0]
                    #expect(try await gateway.finished(single, of: .garden).terminalCounts == ["accepted": 1])
                    // Later rounds may reach that on a busy machine.
                    if turn == 0 {
                        let givenUp = try await world.database { pool in try await pool.number(Self.givenUp) }
                        try #require(givenUp == 0, "the direct message waited for no costly audience")
                    }
                }
                #expect(try await gateway.account(messages[0], of: .garden).state == "accepted")
                try await world.database { pool in try await pool.script(Self.opensGate) }
                for message in messages {
                    #expect(
                        try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": devices.count])
                }
                try await gateway.stopGently()
            }
        }
    }
}
