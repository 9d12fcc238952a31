import Basis
import Encodings
import Model
import Postgres
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A message that is planned")
struct PlanTests {
    @Test("reaches each live registration once, on its route, in parcels of bounded size")
    func everybody() async throws {
        try await withStores { world in
            let production = try await world.register(1...25)
            let sandbox = try await world.register(26...30, environment: .sandbox)
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(production[3].value)")
            try await world.pool.script("UPDATE registrations SET state = 2 WHERE id = \(production[4].value)")
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            var slices: [PlannedSlice] = []
            while let slice = try await world.stores.messages.plan(
                atMost: 1, idsMax: 12, parcelMembersMax: 5, knownFormats: [1], now: dawn
            ).slice {
                slices.append(slice)
            }
            #expect(slices.map(\.members) == [12, 12, 5])
            #expect(slices.map(\.isPlanned) == [false, false, true])
            #expect(slices.last?.routes == [try await world.route(.sandbox)])
            let account = try await world.account()
            #expect(account.state == .sending)
            #expect(account.audience == 29)
            #expect(account.pending == 29)
            let parcels = try await world.pool.read(query("SELECT route_id, members FROM parcels ORDER BY id")).map {
                row throws(PostgresError) in (route: try row.int64(), members: try row.bytes())
            }
            var planned: [Int64: [Int64]] = [:]
            for parcel in parcels {
                let members = try MemberList.decode(parcel.members)
                #expect(members.count <= 5)
                planned[parcel.route, default: []] += members
            }
            #expect(
                planned[try await world.route().value] == production.map(\.value).filter { $0 != production[3].value })
            #expect(planned[try await world.route(.sandbox).value] == sandbox.map(\.value))
        }
    }

    @Test("begins with a small slice, so that its first pushes leave early")
    func firstSlice() async throws {
        try await withStores { world in
            try await world.register(1...2_101)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            var sizes: [Int] = []
            while let slice = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn).slice {
                sizes.append(slice.members)
            }
            #expect(sizes == [2_000, 101])
        }
    }

    @Test(
        "reports on which routes its parcels are ready, and whether they wait for a rate",
        arguments: [true, false])
    func ready(isAlone: Bool) async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.register(3...4, environment: .sandbox)
            let (production, sandbox) = (try await world.route(), try await world.route(.sandbox))
            var slices: [PlannedSlice] = []
            for number in UInt64(1)...3 {
                var message = world.newMessage(
                    number, urgency: .transactional, audience: .installations(["i1", "i3"]))
                if number == 2 { message.ratePerSecond = 5 }
                _ = try await world.stores.messages.accept([message], now: dawn)
                if number == 3 {
                    _ = try await world.stores.messages.control(.pause, app: world.app, id: message.id, now: dawn)
                }
                if isAlone,
                    let slice = try await world.stores.messages.plan(
                        atMost: 1, knownFormats: [1], now: dawn
                    ).slice
                {
                    slices.append(slice)
                }
            }
            if !isAlone,
                case .planned(let group) = try await world.stores.messages.plan(
                    knownFormats: [1], now: dawn)
            {
                slices = group
            }
            #expect(slices.map(\.routes) == [[production, sandbox], [production, sandbox], [production, sandbox]])
            let readiness = try await world.stores.parcels.readyRoutes(knownFormats: [1], now: dawn).routes
            #expect(readiness.map(\.route) == [production, sandbox])
            #expect(slices.map(\.ready) == [readiness, [], []])
            #expect(slices.map(\.waitsForRate) == [false, true, false])
        }
    }

    @Test("reaches no device that registered after the message was accepted")
    func horizon() async throws {
        try await withStores { world in
            try await world.register(1...3)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            try await world.register(4...6)
            _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn)
            #expect(try await world.account().audience == 3)
        }
    }

    @Test("finishes at once when its audience is empty")
    func emptyAudience() async throws {
        try await withStores { world in
            for audience in [Audience.all, .installations([])] {
                let id = audience == .all ? UInt64(1) : 2
                _ = try await world.stores.messages.accept([world.newMessage(id, audience: audience)], now: dawn)
                let reply = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn + .seconds(1))
                guard let slice = reply.slice else {
                    Issue.record("nothing planned")
                    return
                }
                #expect(slice.isPlanned && slice.isFinished && slice.routes.isEmpty)
                let account = try await world.account(StoreWorld.message(id))
                #expect(account.state == .finished)
                #expect(account.audience == 0)
                #expect(account.finishedAt == dawn + .seconds(1))
            }
        }
    }

    @Test("counts unknown installations as rejected and retired ones as unregistered, each once")
    func named() async throws {
        try await withStores { world in
            let ids = try await world.register(1...5)
            try await world.register(StoreWorld.registration("ringer", token: 99, kind: .voip))
            try await world.pool.script("UPDATE registrations SET state = 3 WHERE id = \(ids[4].value)")
            let names = ["i3", "nobody", "i1", "i3", "ringer", "i5", "i1", "nobody"]
            try await world.send(world.newMessage(audience: .installations(names)))
            let account = try await world.account()
            #expect(account.audience == 5)
            #expect(account.pending == 2)
            #expect(account.count(.rejected) == 2)
            #expect(account.count(.unregistered) == 1)
            #expect(
                account.reasons == [
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "no_registration_of_kind"), count: 1),
                    TerminalTotal(terminalStatus: TerminalStatus(.rejected, "unknown_device"), count: 1),
                    TerminalTotal(terminalStatus: TerminalStatus(.unregistered, "retired"), count: 1),
                ])
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.registration) == [ids[0], ids[2]])
        }
    }

    @Test("continues a long list of installations where the last slice ended")
    func namedInSlices() async throws {
        try await withStores { world in
            try await world.register(1...10)
            let names = (1...15).map { "i\($0)" }
            _ = try await world.stores.messages.accept(
                [world.newMessage(audience: .installations(names))], now: dawn)
            var members = 0
            var slices = 0
            while let slice = try await world.stores.messages.plan(
                atMost: 1, idsMax: 4, knownFormats: [1], now: dawn
            ).slice {
                members += slice.members
                slices += 1
            }
            #expect(slices == 4)
            #expect(members == 10)
            let account = try await world.account()
            #expect(account.audience == 15)
            #expect(account.count(.rejected) == 5)
        }
    }

    @Test("finishes with its planning when it names only unknown installations")
    func unknownOnly() async throws {
        try await withStores { world in
            try await world.send(world.newMessage(audience: .installations(["x", "y"])))
            let account = try await world.account()
            #expect(account.state == .finished)
            #expect(account.count(.rejected) == 2)
        }
    }

    @Test("waits for transactional messages, and alternates with other broadcasts")
    func alternates() async throws {
        try await withStores { world in
            try await world.register(1...4)
            let messages = world.stores.messages
            for number in 1...2 as ClosedRange<UInt64> {
                _ = try await messages.accept([world.newMessage(number)], now: dawn)
            }
            _ = try await messages.accept([world.newMessage(3, urgency: .transactional)], now: dawn)
            var order: [MessageID] = []
            var now = dawn
            while let slice = try await messages.plan(atMost: 1, idsMax: 3, knownFormats: [1], now: now).slice {
                order.append(slice.message)
                now = now + .seconds(1)
            }
            #expect(order == [3, 3, 1, 2, 1, 2].map(StoreWorld.message))
        }
    }

    @Test("alternates with the messages of other apps, however many one app has waiting")
    func appsRoundRobin() async throws {
        try await withStores { world in
            let other = try await world.neighbour()
            for world in [world, other] { try await world.register(1...4) }
            let messages = world.stores.messages
            for number in 1...3 as ClosedRange<UInt64> {
                _ = try await messages.accept([world.newMessage(number)], now: dawn)
            }
            _ = try await messages.accept([other.newMessage(9)], now: dawn)
            var order: [MessageID] = []
            var now = dawn
            while let slice = try await messages.plan(atMost: 1, idsMax: 3, knownFormats: [1], now: now).slice {
                order.append(slice.message)
                now = now + .seconds(1)
            }
            #expect(order == [1, 9, 2, 9, 3, 1, 2, 3].map(StoreWorld.message))
        }
    }

    @Test("advances despite a stream of single-device messages, and despite damaged messages")
    func turnsOfEachSort() async throws {
        try await withStores { world in
            let other = try await world.neighbour()
            for world in [world, other] { try await world.register(1...4) }
            let messages = world.stores.messages
            for (number, world) in [(1, world), (2, world), (9, other)] as [(UInt64, StoreWorld)] {
                _ = try await messages.accept([world.newMessage(number)], now: dawn)
            }
            var order: [MessageID] = []
            for step in 1...8 as ClosedRange<UInt64> {
                let now = dawn + .seconds(Int64(step))
                let urgent = world.newMessage(100 + step, urgency: .transactional, audience: .installations(["i1"]))
                _ = try await messages.accept([urgent], now: now)
                for _ in 1...2 {
                    guard
                        let slice = try await messages.plan(atMost: 1, idsMax: 3, knownFormats: [1], now: now).slice
                    else { continue }
                    order.append(slice.message)
                }
            }
            let bulk = order.filter { $0 < StoreWorld.message(100) }
            #expect(bulk == [1, 9, 2, 9, 1, 2].map(StoreWorld.message))
            for (number, world) in [(21, other), (22, other), (29, world)] as [(UInt64, StoreWorld)] {
                _ = try await messages.accept([world.newMessage(number)], now: dawn)
            }
            for number in [21, 22] as [UInt64] {
                let id = StoreWorld.message(number).value.text
                try await world.pool.script("UPDATE message_contents SET audience = 'x' WHERE message_id = '\(id)'")
            }
            var replies: [PlanReply] = []
            while case let reply = try await messages.plan(atMost: 1, knownFormats: [1], now: dawn), reply != .nothing {
                replies.append(reply)
            }
            guard replies.count == 3, let slice = replies[1].slice else {
                Issue.record("\(replies)")
                return
            }
            #expect(slice.message == StoreWorld.message(29))
        }
    }

    @Test("waits for a program that knows its format")
    func format() async throws {
        try await withStores { world in
            _ = try await world.stores.messages.accept([world.newMessage(format: 7)], now: dawn)
            #expect(try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2]) == .nothing)
            #expect(try await world.stores.messages.plan(atMost: 1, knownFormats: [7]) != .nothing)
        }
    }

    @Test(
        "gets put aside by name when its content is damaged, and later messages go on",
        arguments: ["DELETE FROM message_contents", "UPDATE message_contents SET audience = 'nobody knows'"])
    func unreadable(damage: String) async throws {
        try await withStores { world in
            try await world.register(1...2)
            let messages = world.stores.messages
            _ = try await messages.accept([world.newMessage(1, urgency: .transactional)], now: dawn)
            try await world.pool.script("CREATE TABLE kept AS TABLE message_contents; \(damage)")
            _ = try await messages.accept([world.newMessage(2)], now: dawn)
            let name = StoreWorld.message(1).value.text
            let fault = StoreFault.damaged("plan of message \(name): plan_claim, column 14")
            #expect(try await messages.plan(atMost: 1, knownFormats: [1], now: dawn) == .putAside(fault))
            guard let slice = try await messages.plan(atMost: 1, knownFormats: [1], now: dawn).slice else {
                Issue.record("nothing planned")
                return
            }
            #expect(slice.message == StoreWorld.message(2))
            #expect(try await messages.plan(atMost: 1, knownFormats: [1], now: dawn) == .nothing)
            let later = dawn + .seconds(60)
            #expect(try await messages.plan(atMost: 1, knownFormats: [1], now: later) == .putAside(fault))
            try await world.pool.script(
                "DELETE FROM message_contents; INSERT INTO message_contents SELECT * FROM kept")
            _ = try await messages.plan(atMost: 1, knownFormats: [1], now: later + .seconds(60))
            #expect(try await world.account().audience == 2)
        }
    }

    @Test("reaches each member once when many planners work at the same time")
    func planners() async throws {
        try await withStores { world in
            try await world.register(1...60)
            for number in 1...3 as ClosedRange<UInt64> {
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: dawn)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        // An empty reply may mean that other planners are at work.
                        // This planner then leaves the other slices to them.
                        while try await world.stores.messages.plan(
                            atMost: 1, idsMax: 7, parcelMembersMax: 3, knownFormats: [1]) != .nothing
                        {}
                    }
                }
                try await group.waitForAll()
            }
            while try await world.stores.messages.plan(atMost: 1, idsMax: 7, knownFormats: [1]) != .nothing {}
            for number in 1...3 as ClosedRange<UInt64> {
                #expect(try await world.account(StoreWorld.message(number)).audience == 60)
            }
            let parcels = try await world.pool.read(query("SELECT message_id, members FROM parcels")).map {
                row throws(PostgresError) in (message: try row.uuid(), members: try row.bytes())
            }
            var seen: Set<[UInt64]> = []
            for parcel in parcels {
                for id in try MemberList.decode(parcel.members) {
                    #expect(seen.insert([parcel.message.high, UInt64(id)]).inserted, "a member was planned twice")
                }
            }
            #expect(seen.count == 180)
        }
    }

    @Test("stays visible to planners while a settle holds its row")
    func settleDoesNotHide() async throws {
        try await withStores { world in
            try await world.register(1...3)
            _ = try await world.stores.messages.accept([world.newMessage()], now: dawn)
            let planner = Task { try await world.stores.messages.plan(atMost: 1, knownFormats: [1]) }
            try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("UPDATE messages SET accepted_at = accepted_at"))
                // The planner was faster, or it waits for this transaction. It never skips the message.
                let moved = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted) OR NOT EXISTS (SELECT FROM plans)"
                while try await world.pool.read(query(moved)).one(Bool.init) == false { await Task.yield() }
            }
            let reply = try await planner.value
            #expect(reply != .nothing)
        }
    }
}
