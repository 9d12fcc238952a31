import Basis
import Model
import Postgres
import Store
import Testing

private let dawn = StoreWorld.dawn
private let production = RouteDescription(provider: .apns, environment: .production, topic: StoreWorld.topic)

extension StoreWorld {
    fileprivate func failures(
        _ filter: FailureFilter = FailureFilter(), from cursor: HistoryCursor? = nil, limit: Int = 100
    ) async throws -> FailurePage {
        try #require(
            try await stores.messages.failures(
                app: app, id: StoreWorld.message(1), filter: filter, from: cursor, limit: limit))
    }

    fileprivate func pushHistory(_ installation: String) async throws -> PushHistory {
        try #require(
            try await stores.messages.pushHistory(app: app, id: StoreWorld.message(1), installation: installation))
    }
}

@Suite("The failure list of a message")
struct FailureTests {
    /// Sends to ten devices in two parcels. In each one push is accepted, two are rejected, and two are unregistered.
    private func fail(_ world: StoreWorld) async throws {
        try await world.register(1...10)
        try await world.send(world.newMessage(), parcelMembersMax: 5)
        for second in Int64(1)...2 {
            let parcel = try #require(try await world.lease())
            let terminalCounts = [
                (0..<1, TerminalStatus(.accepted)), (1..<3, TerminalStatus(.rejected, "BadDeviceToken")),
                (3..<5, TerminalStatus(.unregistered, "Unregistered")),
            ]
            _ = try await world.stores.parcels.settle([parcel.settling(terminalCounts)], now: dawn + .seconds(second))[
                0
            ].get()
        }
    }

    @Test("shows device, reason, time and attempts, and no push that was accepted")
    func reported() async throws {
        try await withStores { world in
            try await fail(world)
            let page = try await world.failures()
            #expect(page.next == nil)
            #expect(page.items.map(\.installation) == ["i2", "i3", "i4", "i5", "i7", "i8", "i9", "i10"])
            #expect(
                page.items.first
                    == PushFailure(
                        installation: "i2", kind: .alert, provider: .apns,
                        terminalStatus: TerminalStatus(.rejected, "BadDeviceToken"),
                        at: dawn + .seconds(1), attempts: 1))
            #expect(page.items.last?.at == dawn + .seconds(2))
            let stranger = try await world.stores.messages.failures(
                app: world.app, id: StoreWorld.message(2), limit: 1)
            #expect(stranger == nil)
        }
    }

    @Test("shows what the provider said first about a reason, like the account and the push's steps")
    func detail() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(), parcelMembersMax: 2)
            let status = TerminalStatus(.rejected, "INVALID_ARGUMENT")
            for text in ["message: unknown name content_available", "message.data"] {
                let parcel = try #require(try await world.lease())
                let ends = [(0..<1, status), (1..<2, TerminalStatus(.rejected, "THIRD_PARTY_AUTH_ERROR"))]
                try await world.settle(
                    parcel.settling(ends, complaint: MessageComplaint(reason: status.reason, text: text)))
            }
            let told = "message: unknown name content_available"
            #expect(try await world.failures().items.map(\.detail) == [told, nil, told, nil])
            #expect(try await world.account().reasons.map(\.detail) == [told, nil])
            #expect(try await world.pushHistory("i3").steps.map(\.detail) == [told])
            #expect(try await world.pushHistory("i4").steps.map(\.detail) == [nil])
        }
    }

    @Test("returns each failure once in pages of any size, filtered by state and reason")
    func pages() async throws {
        try await withStores { world in
            try await fail(world)
            let all = try await world.failures().items
            for limit in 1...9 {
                var items: [PushFailure] = []
                var cursor: HistoryCursor?
                repeat {
                    let page = try await world.failures(from: cursor, limit: limit)
                    #expect(page.items.count == limit || page.next == nil)
                    items += page.items
                    // The cursor travels as text through a client.
                    cursor = try page.next.map { try #require(HistoryCursor(text: $0.text)) }
                } while cursor != nil
                #expect(items == all, "pages of \(limit)")
            }
            let rejected = try await world.failures(FailureFilter(state: .rejected), limit: 3)
            #expect(rejected.items.map(\.installation) == ["i2", "i3", "i7"])
            let remaining = try await world.failures(FailureFilter(state: .rejected), from: rejected.next, limit: 3)
            #expect(remaining.items.map(\.installation) == ["i8"] && remaining.next == nil)
            #expect(try await world.failures(FailureFilter(reason: "Unregistered")).items.count == 4)
            #expect(try await world.failures(FailureFilter(state: .rejected, reason: "Unregistered")).items.isEmpty)
        }
    }

    @Test("returns each failure once although a page scans only a few rows", arguments: 2...7)
    func rare(scanMax: Int) async throws {
        try await withStores { world in
            try await fail(world)
            for filter in [FailureFilter(reason: "Unregistered"), FailureFilter(state: .rejected), FailureFilter()] {
                let all = try await world.failures(filter).items
                for limit in 1...5 {
                    var items: [PushFailure] = []
                    var cursor: HistoryCursor?
                    repeat {
                        let page = try #require(
                            try await world.stores.messages.failures(
                                app: world.app, id: StoreWorld.message(1), filter: filter, from: cursor, limit: limit,
                                scanMax: scanMax))
                        #expect(page.items.count <= limit)
                        items += page.items
                        cursor = try page.next.map { try #require(HistoryCursor(text: $0.text)) }
                    } while cursor != nil
                    #expect(items == all, "pages of \(limit)")
                }
            }
            let none = try await world.stores.messages.failures(
                app: world.app, id: StoreWorld.message(1), filter: FailureFilter(reason: "never"), from: nil, limit: 1,
                scanMax: 2)
            #expect(none?.items.isEmpty == true && none?.next != nil, "the page stops at its limit of rows")
        }
    }

    @Test("skips failures of an unknown provider and shows the ones behind them")
    func newer() async throws {
        try await withStores { world in
            try await fail(world)
            let known = try await world.failures(FailureFilter(state: .rejected)).items
            try await world.pool.script(
                """
                WITH newer AS (
                    INSERT INTO routes (app_id, provider, environment) SELECT app_id, 9, 1 FROM routes LIMIT 1 RETURNING id
                ) UPDATE push_history h SET route_id = newer.id FROM newer WHERE h.reason = 'Unregistered'
                """)
            for scanMax in [2, 2_000] {
                var items: [PushFailure] = []
                var cursor: HistoryCursor?
                repeat {
                    let page = try #require(
                        try await world.stores.messages.failures(
                            app: world.app, id: StoreWorld.message(1), filter: FailureFilter(), from: cursor, limit: 1,
                            scanMax: scanMax))
                    items += page.items
                    cursor = page.next
                } while cursor != nil
                #expect(items == known)
            }
        }
    }

    @Test("shows no name for a device that was deleted, and still counts its failure")
    func erased() async throws {
        try await withStores { world in
            try await fail(world)
            _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i3")
            #expect(try await world.failures().items.map(\.installation).prefix(3) == ["i2", nil, "i4"])
            #expect(try await world.account().outcomes == [2, 4, 4, 0, 0, 0, 0])
            let named = "SELECT count(*) FROM push_history WHERE push_history::text LIKE '%i3%'"
            #expect(try await world.number(named) == 0)
        }
    }

    @Test("contains only failures whose settlement was accepted")
    func fenced() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let part = parcel.settling([(0..<2, TerminalStatus(.rejected, "BadTopic"))])
            for _ in 1...2 { _ = try await world.stores.parcels.settle([part], now: dawn)[0].get() }
            #expect(try await world.failures().items.count == 2)
            let stale = parcel.settling([(2..<4, TerminalStatus(.rejected, "BadTopic"))], settles: 7)
            _ = try await world.stores.parcels.settle([stale], now: dawn)[0].get()
            #expect(try await world.failures().items.count == 2)
        }
    }

    @Test(
        "rejects forged cursors, including one that would read a million members",
        arguments: ["", "0", String(repeating: "f", count: 48), "zz", String(repeating: "0", count: 42) + "0fffff"])
    func cursors(text: String) { #expect(HistoryCursor(text: text) == nil) }
}

@Suite("The history of one push")
struct PushHistoryPageTests {
    @Test("leaves out an attempt whose state a later version wrote")
    func laterState() async throws {
        try await withStores { world in
            try await world.register(1...1)
            try await world.send(world.newMessage())
            let parcel = try #require(try await world.lease())
            let settled = await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)
            #expect(settled == [.success(.settled)])
            #expect(try await world.pushHistory("i1").steps.count == 1)
            try await world.pool.script(
                """
                ALTER TABLE push_history DROP CONSTRAINT push_history_state_check;
                UPDATE push_history SET state = 9
                """)
            #expect(try await world.pushHistory("i1").steps.isEmpty)
        }
    }

    @Test("shows planning, the parcel, each attempt and the terminal state")
    func whole() async throws {
        try await withStores { world in
            try await world.register(1...4)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            #expect(try await world.pushHistory("i2").status == .planning)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn)
            let first = ParcelID(1)
            let fresh = PendingPush(parcel: first, leg: production, attempts: 0, dueAt: dawn, cause: nil)
            #expect(try await world.pushHistory("i2").status == .waiting(fresh))
            let parcel = try #require(try await world.lease())
            #expect(try await world.pushHistory("i2").status == .sending(fresh))
            let busy = parcel.settling(
                [(0..<1, TerminalStatus(.accepted)), (2..<4, TerminalStatus(.accepted))],
                remainders: [parcel.remainder(1..<2, after: .seconds(9))])
            _ = try await world.stores.parcels.settle([busy], now: dawn + .seconds(1))[0].get()
            let pushHistory = try await world.pushHistory("i2")
            let retry = PendingPush(
                parcel: ParcelID(2), leg: production, attempts: 1, dueAt: dawn + .seconds(10), cause: "provider_busy")
            #expect(pushHistory.status == .waiting(retry))
            let tried = PushStep(
                at: dawn + .seconds(1), parcel: first, leg: production, attempts: 1, event: .goesOn("provider_busy"))
            #expect(pushHistory.steps == [tried])
            #expect(pushHistory.registration == parcel.members[1].registration && pushHistory.acceptedAt == dawn)
            let again = try #require(try await world.lease(at: dawn + .seconds(10)))
            _ = try await world.stores.parcels.settle(
                [again.settlingAll(as: TerminalStatus(.unregistered, "Unregistered"))], now: dawn + .seconds(11))[0]
                .get()
            let end = try await world.pushHistory("i2")
            #expect(end.status == .ended(TerminalStatus(.unregistered, "Unregistered")))
            #expect(
                end.steps == [
                    tried,
                    PushStep(
                        at: dawn + .seconds(11), parcel: ParcelID(2), leg: production, attempts: 2,
                        event: .ended(TerminalStatus(.unregistered, "Unregistered"))),
                ])
            #expect(try await world.pushHistory("i1").status == .ended(TerminalStatus(.accepted)))
        }
    }

    @Test("shows for a partly settled parcel which devices are done and which are not")
    func partly() async throws {
        try await withStores { world in
            try await world.register(1...300)
            try await world.send(world.newMessage(), parcelMembersMax: 3)
            let parcel = try #require(try await world.lease())
            _ = try await world.stores.parcels.settle(
                [parcel.settling([(1..<2, TerminalStatus(.accepted))])], now: dawn)[0].get()
            #expect(try await world.pushHistory("i2").status == .ended(TerminalStatus(.accepted)))
            guard case .sending(let push) = try await world.pushHistory("i3").status else {
                Issue.record("the push is being sent")
                return
            }
            #expect(push.parcel == parcel.id)
            // The device is in the hundredth parcel.
            guard case .waiting(let far) = try await world.pushHistory("i300").status else {
                Issue.record("the push waits")
                return
            }
            #expect(far.parcel == ParcelID(100))
        }
    }

    @Test("distinguishes devices outside the audience, unknown devices and deleted history")
    func others() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(audience: .installations(["i1", "i2", "ghost"])))
            try await world.register(5...5)
            #expect(try await world.pushHistory("i3").status == .notInAudience)
            #expect(try await world.pushHistory("i5").status == .notInAudience)
            #expect(try await world.pushHistory("nobody").status == .notInAudience)
            #expect(try await world.pushHistory("ghost").status == .ended(TerminalStatus(.rejected, "unknown_device")))
            let parcel = try #require(try await world.lease())
            _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
            #expect(try await world.pushHistory("i3").status == .notInAudience)
            try await world.pool.script("DELETE FROM push_history")
            #expect(try await world.pushHistory("i1").status == .notKept)
            #expect(try await world.pushHistory("i3").status == .notKept)
        }
    }
}

@Suite("The retention of the push history")
struct HistoryRetentionTests {
    private func partitions(_ world: StoreWorld) async throws -> [String] {
        let rows = try await world.pool.read(
            query(
                """
                SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'push_history'::regclass ORDER BY 1
                """))
        return try rows.map(String.init)
    }

    /// - Parameter writtenDay: the day of the write; nil: that of the message's id.
    private func write(_ world: StoreWorld, day: Int64, on writtenDay: Int64? = nil) async throws {
        try await world.pool.script(
            """
            INSERT INTO push_history VALUES ((lpad(to_hex(\(day)::bigint * 86400000), 12, '0') || repeat('0', 20))::uuid,
                \(day), 0, 1, 1, 2, 'BadTopic', 1, to_timestamp(\(writtenDay ?? day)::bigint * 86400), 1, 1, 1, '\\x8101')
            """)
    }

    private var twoDays: Retention {
        var retention = Retention()
        retention.historyDays = 2
        return retention
    }

    @Test("creates each day's partition in advance, and drops it after the retention")
    func days() async throws {
        try await withStores { world in
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            for _ in 1...2 { _ = try await world.stores.sweeper.sweep(twoDays, now: noon) }
            let first = (20_000...20_003).map { "push_history_d\($0)" } + ["push_history_other"]
            #expect(try await partitions(world) == first)
            for day in Int64(19_997)...20_000 { try await write(world, day: day) }
            #expect(try await world.number("SELECT count(*) FROM push_history_d20000") == 1)
            // Rows without a partition of their own are deleted one by one.
            #expect(try await world.stores.sweeper.sweep(twoDays, now: noon) == 1)
            #expect(try await world.number("SELECT min(parcel_id) FROM push_history") == 19_998)
            _ = try await world.stores.sweeper.sweep(twoDays, now: noon + .seconds(3 * 86_400))
            let later = (20_001...20_006).map { "push_history_d\($0)" } + ["push_history_other"]
            #expect(try await partitions(world) == later)
            #expect(try await world.number("SELECT count(*) FROM push_history") == 0)
        }
    }

    @Test("stays for its time if its message was sent long after the message's id was made")
    func sentLate() async throws {
        try await withStores { world in
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            try await write(world, day: 19_900, on: 20_000)
            #expect(try await world.stores.sweeper.sweep(twoDays, now: noon) == 0)
            #expect(try await world.number("SELECT count(*) FROM push_history") == 1)
            #expect(try await world.stores.sweeper.sweep(twoDays, now: noon + .seconds(3 * 86_400)) == 1)
            #expect(try await world.number("SELECT count(*) FROM push_history") == 0)
        }
    }

    @Test("creates no partition for a day whose rows were written before it")
    func strays() async throws {
        try await withStores { world in
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            try await write(world, day: 20_000)
            _ = try await world.stores.sweeper.sweep(now: noon)
            #expect(
                try await partitions(world) == (20_001...20_003).map { "push_history_d\($0)" } + [
                    "push_history_other"
                ])
            #expect(try await world.number("SELECT count(*) FROM push_history") == 1)
        }
    }

    @Test("works if many processes run it at the same time")
    func together() async throws {
        try await withStores { world in
            let noon = WallInstant(secondsSince1970: 20_000 * 86_400 + 43_200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...6 {
                    group.addTask { _ = try await Stores(pool: world.pool).sweeper.sweep(now: noon) }
                }
                try await group.waitForAll()
            }
            _ = try await world.stores.sweeper.sweep(now: noon)
            #expect(try await partitions(world).count == 5)
        }
    }
}
