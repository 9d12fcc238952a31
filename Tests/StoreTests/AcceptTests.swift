import Basis
import Model
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A message in the store")
struct AcceptTests {
    @Test("keeps its content and its times, and has no audience until it is planned")
    func stored() async throws {
        try await withStores { world in
            let message = world.newMessage(urgency: .transactional, lifetime: .seconds(60))
            #expect(try await world.stores.messages.accept([message], now: dawn) == .accepted)
            let account = try await world.account()
            #expect(account.state == .accepted)
            #expect(account.acceptedAt == dawn)
            #expect(account.expiresAt == dawn + .seconds(60))
            #expect(account.audience == nil)
            #expect(account.pending == 0)
            let content = try await world.stores.messages.contents([message.id])[0].get()
            #expect(content?.content == message.content)
            #expect(content?.urgency == .transactional)
            #expect(content?.kind == .alert)
            #expect(content?.expiresAt == dawn + .seconds(60))
        }
    }

    @Test("fails with unknownApp and leaves no content behind if its app does not exist")
    func unknownApp() async throws {
        try await withStores { world in
            var message = world.newMessage()
            message.app = AppID(999)
            let refused = message
            let found = await fault { () async throws(StoreFault) in try await world.stores.messages.accept([refused]) }
            #expect(found == .unknownApp)
            let contents = try await world.number("SELECT count(*) FROM message_contents")
            #expect(contents == 0)
        }
    }

    @Test("appears only in its own app's list, which shows the message accepted last first")
    func listed() async throws {
        try await withStores { world in
            // A message that is sent later has a later id.
            for (second, number) in ([5, 1, 2, 3, 4] as [UInt64]).enumerated() {
                let now = dawn + .seconds(Int64(second))
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: now)
            }
            let first = try await world.stores.messages.list(app: world.app, limit: 2)
            #expect(first.items.map(\.id) == [StoreWorld.message(4), StoreWorld.message(3)])
            #expect(first.next == StoreWorld.message(3))
            let remaining = try await world.stores.messages.list(app: world.app, before: first.next, limit: 10)
            #expect(remaining.items.map(\.id) == [2, 1, 5].map(StoreWorld.message) && remaining.next == nil)
            #expect(try await world.stores.messages.list(app: AppID(99), limit: 10).items.isEmpty)
            #expect(try await world.stores.messages.account(app: AppID(99), id: StoreWorld.message(1)) == nil)
        }
    }

    @Test("appears in the list for its state and in no other")
    func listedByState() async throws {
        try await withStores { world in
            for number in 1...6 as ClosedRange<UInt64> {
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: dawn)
            }
            // No device is registered: each message ends when it is planned.
            for _ in 1...3 { _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn) }
            try await world.pool.script(
                "UPDATE messages SET state = 7 WHERE id = '\(StoreWorld.message(5).value.text)'")
            func listed(_ state: MessageState, before: UInt64? = nil, limit: Int = 10) async throws -> [MessageID] {
                try await world.stores.messages.list(
                    app: world.app, before: before.map(StoreWorld.message), limit: limit, state: state
                ).items.map(\.id)
            }
            #expect(try await listed(.finished) == [3, 2, 1].map(StoreWorld.message))
            #expect(try await listed(.finished, before: 3, limit: 1) == [StoreWorld.message(2)])
            #expect(try await listed(.accepted) == [6, 4].map(StoreWorld.message))
            #expect(try await listed(.accepted, before: 6) == [StoreWorld.message(4)])
            #expect(try await listed(.cancelled) == [StoreWorld.message(5)])
            #expect(try await listed(.sending).isEmpty)
        }
    }

    /// Returns the messages of all pages, and the number of pages.
    private func pages(
        _ world: StoreWorld, _ state: MessageState?, limit: Int, scanMax: Int, parcelsMax: Int
    ) async throws -> (ids: [MessageID], count: Int) {
        var (ids, count): ([MessageID], Int) = ([], 0)
        var before: MessageID?
        repeat {
            let page = try await world.stores.messages.list(
                app: world.app, before: before, limit: limit, state: state, scanMax: scanMax, parcelsMax: parcelsMax)
            #expect(page.items.count <= limit)
            ids += page.items.map(\.id)
            before = page.next
            count += 1
        } while before != nil
        return (ids, count)
    }

    @Test("appears in the list of finished messages although a page scans only a few rows", arguments: 1...8)
    func behindOthers(scanMax: Int) async throws {
        try await withStores { world in
            let finished: [UInt64] = [5, 2, 1]
            // No device is registered: each message ends when it is planned.
            for number in finished {
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: dawn)
                _ = try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn)
            }
            for number: UInt64 in [3, 4, 6, 7] {
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: dawn)
            }
            for limit in 1...4 {
                let (ids, count) = try await pages(world, .finished, limit: limit, scanMax: scanMax, parcelsMax: 9)
                #expect(ids == finished.map(StoreWorld.message))
                #expect(count >= (7 + scanMax - 1) / scanMax, "no page reads more rows than its limit")
            }
        }
    }

    @Test("shortens its list page if there are many open parcels, and the next page continues")
    func manyParcels() async throws {
        try await withStores { world in
            try await world.register(1...3)
            for number in 1...40 as ClosedRange<UInt64> {
                try await world.send(world.newMessage(number), parcelMembersMax: 1)
            }
            for (parcelsMax, pagesMin) in [(1, 40), (49, 2), (1_000, 1)] {
                let (ids, count) = try await pages(world, nil, limit: 100, scanMax: 9, parcelsMax: parcelsMax)
                #expect(ids == (1...40).reversed().map { StoreWorld.message(UInt64($0)) })
                #expect(count == pagesMin)
            }
            let account = try await world.stores.messages.list(app: world.app, limit: 1).items.first
            #expect(account?.pending == 3)
        }
    }

    @Test("shows its push type and a summary of its audience without names and tokens", arguments: 0..<forms.count)
    func form(place: Int) async throws {
        try await withStores { world in
            var message = world.newMessage(audience: Self.forms[place].0)
            message.pushType = .background
            message.isDryRun = true
            _ = try await world.stores.messages.accept([message], now: dawn)
            let form = try #require(try await world.account().form)
            #expect(form.pushType == .background && form.isDryRun)
            #expect(String(decoding: form.asked.bytes, as: UTF8.self) == Self.forms[place].1)
            #expect(try await world.stores.messages.list(app: world.app, limit: 1).items.first?.form == form)
        }
    }

    static let forms: [(Audience, String)] = [
        (.all, #"{"all":true}"#),
        (Audience(.installations(["a", "b"]), kind: .voip), #"{"installations":2,"kind":"voip"}"#),
        (.users(["a"]), #"{"users":1}"#),
        (
            Audience(.tags(TagExpression(any: ["b", "a"], none: ["c"])), providers: [.apns, .fcm]),
            #"{"tags":{"any":["a","b"],"none":["c"]},"providers":["apns","fcm"]}"#
        ),
        (
            .tokens([
                InlineTarget(provider: .apns, environment: .sandbox, topic: "t", token: DeviceToken(bytes: [1, 2]))
            ]), #"{"tokens":1}"#
        ),
    ]

    @Test("counts towards its app's backlog until it is finished")
    func backlog() async throws {
        try await withStores { world in
            for number in 1...5 as ClosedRange<UInt64> {
                _ = try await world.stores.messages.accept([world.newMessage(number)], now: dawn)
            }
            let one = world.newMessage(6, urgency: .transactional, audience: .installations(["i1"]))
            _ = try await world.stores.messages.accept([one], now: dawn)
            func open(_ urgency: MessageUrgency, countingTo limit: Int = 100) async throws -> Int {
                try await world.stores.messages.status(of: world.app, urgency, countingTo: limit).openMessages
            }
            #expect(try await open(.bulk) == 5)
            #expect(try await open(.bulk, countingTo: 3) == 3)
            #expect(try await open(.transactional) == 1)
            while try await world.stores.messages.plan(atMost: 1, knownFormats: [1], now: dawn) != .nothing {}
            #expect(try await open(.bulk) == 0)
        }
    }
}

@Suite("A message sent twice with one idempotency key")
struct IdempotencyTests {
    private func claim(_ body: UInt8 = 1, answer: String = "first") -> IdempotentAnswer {
        IdempotentAnswer(
            claim: IdempotencyClaim(
                operation: "POST messages", key: "k1", bodySHA256: [UInt8](repeating: body, count: 32)),
            answer: Array(answer.utf8))
    }

    @Test("reaches the database once, and the second request gets the first answer")
    func replayed() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            #expect(try await messages.accept([world.newMessage(1, idempotency: claim())]) == .accepted)
            let second = try await messages.accept([world.newMessage(2, idempotency: claim(answer: "second"))])
            #expect(second == .replayed(answer: Array("first".utf8)))
            #expect(try await world.number("SELECT count(*) FROM messages") == 1)
            #expect(try await world.number("SELECT count(*) FROM message_contents") == 1)
            #expect(try await world.number("SELECT count(*) FROM plans") == 1)
        }
    }

    @Test("returns a mismatch if the second request has another body")
    func mismatch() async throws {
        try await withStores { world in
            let messages = world.stores.messages
            _ = try await messages.accept([world.newMessage(1, idempotency: claim())])
            #expect(try await messages.accept([world.newMessage(2, idempotency: claim(2))]) == .mismatch)
        }
    }

    @Test("reaches the database once if the requests come at the same time, with one answer for all")
    func simultaneous() async throws {
        try await withStores { world in
            let replies = try await withThrowingTaskGroup(of: AcceptReply.self) { group in
                for number in 1...8 as ClosedRange<UInt64> {
                    group.addTask {
                        try await world.stores.messages.accept([world.newMessage(number, idempotency: claim())])
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.count { $0 == .accepted } == 1)
            #expect(replies.count { $0 == .replayed(answer: Array("first".utf8)) } == 7)
            #expect(try await world.number("SELECT count(*) FROM messages") == 1)
        }
    }

    @Test("becomes two messages if the two requests belong to different apps")
    func perApp() async throws {
        try await withStores { world in
            let other = try await world.stores.registry.createApp(slug: "other", name: "Other").id
            _ = try await world.stores.messages.accept([world.newMessage(1, idempotency: claim())])
            var duplicate = world.newMessage(2, idempotency: claim())
            duplicate.app = other
            #expect(try await world.stores.messages.accept([duplicate]) == .accepted)
        }
    }

    @Test("keeps its idempotency key for two days, after which a sweep deletes it")
    func swept() async throws {
        try await withStores { world in
            _ = try await world.stores.messages.accept([world.newMessage(1, idempotency: claim())])
            let keys = "SELECT count(*) FROM idempotency_keys"
            try await world.pool.script("UPDATE idempotency_keys SET created_at = '2026-11-01T00:00:00Z'")
            let created = WallInstant(secondsSince1970: 1_793_491_200)
            _ = try await world.stores.sweeper.sweep(now: created + Sweeper.idempotencyKept)
            #expect(try await world.number(keys) == 1)
            let gone = try await world.stores.sweeper.sweep(now: created + Sweeper.idempotencyKept + .seconds(1))
            #expect(gone == 1)
            #expect(try await world.number(keys) == 0)
        }
    }

    @Test("must suit every provider with a registration route or an active credential in its app")
    func status() async throws {
        try await withStores { world in
            func providers() async throws -> [Provider] {
                try await world.stores.messages.status(of: world.app, .bulk, countingTo: 1).providers
            }
            #expect(try await providers() == [])
            let key = try await world.stores.credentials.nextIDs(1)[0]
            let account = NewCredential(
                id: key, app: world.app, provider: .fcm, environment: .production, kind: .serviceAccount,
                topics: [], facts: Array("{}".utf8), sealed: [1])
            _ = try await world.stores.credentials.insert(
                [account], app: world.app, activate: false, once: nil
            ) { _ in [] }
            #expect(try await providers() == [])
            _ = try await world.stores.credentials.activate([key], app: world.app)
            #expect(try await providers() == [.fcm])
            try await world.register(1...1)
            #expect(try await providers() == [.apns, .fcm])
            _ = try await world.stores.credentials.retire([key], app: world.app)
            #expect(try await providers() == [.apns])
            // Sibling routes do not count.
            _ = try await world.pool.run(query("UPDATE routes SET number = 0"))
            #expect(try await providers() == [])
        }
    }
}
