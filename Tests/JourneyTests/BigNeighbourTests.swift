import Basis
import Model
import TestSupport
import Testing

extension LongJourneys {
    @Suite("An app with 100,000 registrations beside an app with 2,000,000")
    struct BigNeighbourTests {
        /// The gateway's limit for any audience (P8).
        private static let residentPeakMiBMax = 150

        @Test("sends a broadcast once to each live token and retires dead tokens, in little memory")
        func broadcast() async throws {
            let dead = [Device](.gone, 2_000)
            var live = [Device](.live, 98_000)
            for number in stride(from: 0, to: live.count, by: 10) { live[number].badge = number % 7 }
            try await World.within(server: nil) { world in
                let gateway = try await world.gateway()
                let clock = ContinuousClock()
                try await world.addNeighbour(of: 2_000_000, through: gateway)
                let importing = try await clock.measure {
                    try await world.fill(.garden, live + dead, through: gateway)
                }

                let start = clock.now
                let message = try await gateway.broadcast(.garden)
                let account = try await gateway.finished(message, of: .garden)
                let sending = clock.now - start

                #expect(account.addsUp)
                #expect(account.audience == 100_000)
                #expect(account.terminalCounts == ["accepted": 98_000, "unregistered": 2_000])
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                #expect(try await world.production.receipts(of: dead).missing == dead.count)
                let feedback = try await gateway.feedback(.garden)
                #expect(feedback.map(\.installation).sorted() == dead.map(\.installation).sorted())
                #expect(feedback.allSatisfy { $0.verdict == "retired" && $0.reason == "Unregistered" })
                let peak = try gateway.program.residentPeakMiB()
                #expect(peak < Self.residentPeakMiBMax)
                print("100,000 beside 2,000,000: imported in \(importing), sent in \(sending), VmHWM \(peak) MiB")
                try await gateway.stopGently()
            }
        }
    }
}

extension World {
    /// Adds another app's registrations, as if they had existed for years.
    fileprivate func addNeighbour(of count: Int, through gateway: Gateway) async throws {
        try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "\#(App.forest)", "name": "A big one"}"#)
        try await database { pool in
            let slice = 250_000
            for first in stride(from: 1, through: count, by: slice) {
                // The rows are correct by construction: their triggers would double the time.
                try await pool.script(
                    """
                    SET LOCAL session_replication_role = replica;
                    INSERT INTO routes (app_id, provider, environment)
                        SELECT id, \(Provider.apns.rawValue), \(PushEnvironment.sandbox.rawValue) FROM apps
                        WHERE slug = '\(App.forest)' ON CONFLICT DO NOTHING;
                    WITH made AS (
                        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token)
                        SELECT r.app_id, r.id, r.provider, \(TokenKind.alert.rawValue), 'tree-' || n,
                            sha256(int8send(n))
                        FROM routes r JOIN apps a ON a.id = r.app_id
                            CROSS JOIN generate_series(\(first)::bigint, \(min(first + slice - 1, count))) n
                        WHERE a.slug = '\(App.forest)' RETURNING id)
                    INSERT INTO registration_pulse (registration_id, registered_at)
                        SELECT id, clock_timestamp() FROM made
                    """, deadline: .seconds(600))
            }
            // PostgreSQL does this by itself after a while.
            try await pool.script("ANALYZE", deadline: .seconds(600))
            #expect(try await pool.number("SELECT count(*) FROM registrations") == count)
        }
    }
}
