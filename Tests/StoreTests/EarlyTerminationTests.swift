import Model
import Store
import Testing

private let dawn = StoreWorld.dawn
private let sent = StoreWorld.message(1)

extension StoreWorld {
    fileprivate func failures(
        _ filter: FailureFilter = FailureFilter(), from cursor: HistoryCursor? = nil, limit: Int = 100
    ) async throws -> FailurePage {
        try #require(
            try await stores.messages.failures(app: app, id: sent, filter: filter, from: cursor, limit: limit))
    }

    fileprivate func pushHistory(_ installation: String) async throws -> PushHistory {
        try #require(try await stores.messages.pushHistory(app: app, id: sent, installation: installation))
    }

    /// Accepts a message and plans it to its end.
    fileprivate func plan(_ audience: Audience, idsMax: Int = 100) async throws {
        #expect(try await stores.messages.accept([newMessage(audience: audience)], now: StoreWorld.dawn) == .accepted)
        while try await stores.messages.plan(atMost: 1, idsMax: idsMax, knownFormats: [1, 2], now: StoreWorld.dawn)
            != .nothing
        {}
    }

    fileprivate func retire(_ installations: String...) async throws {
        let names = installations.map { "'\($0)'" }.joined(separator: ", ")
        try await pool.script("UPDATE registrations SET state = 3 WHERE installation IN (\(names))")
    }
}

@Suite("A named target that ended before anything was sent")
struct EarlyTerminationTests {
    private static let unknown = TerminalStatus(.rejected, "unknown_device")
    private static let retired = TerminalStatus(.unregistered, "retired")

    @Test("appears among the failures by name, and counts for its provider")
    func failures() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.retire("i2")
            try await world.plan(.installations(["i1", "nobody", "i2", "ghost"]))
            func failure(_ name: String, _ provider: Provider?, _ terminalStatus: TerminalStatus) -> PushFailure {
                PushFailure(
                    installation: name, kind: .alert, provider: provider, terminalStatus: terminalStatus, at: dawn,
                    attempts: 0)
            }
            let all = [
                failure("ghost", nil, Self.unknown), failure("nobody", nil, Self.unknown),
                failure("i2", .apns, Self.retired),
            ]
            #expect(try await world.failures().items == all)
            let first = try await world.failures(limit: 1)
            let remaining = try await world.failures(from: first.next, limit: 2)
            #expect(first.items + remaining.items == all && remaining.next == nil)
            #expect(try await world.failures(FailureFilter(reason: "retired")).items == [all[2]])
            #expect(
                try await world.account().providers == [
                    ProviderAccount(provider: .apns, outcomes: [0, 0, 1, 0, 0, 0, 0], pending: 1)
                ])
            // Names are stored in the message's content only, and are deleted with it.
            try await world.pool.script("DELETE FROM message_contents")
            #expect(try await world.failures().items.map(\.installation) == [nil, nil, "i2"])
            #expect(
                try await world.pushHistory("ghost").status == .notKept,
                "the names in the message are deleted with its content")
        }
    }

    @Test("keeps its reason in the push history, whatever is registered or removed later")
    func histories() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.retire("i2")
            try await world.plan(.installations(["i1", "i2", "ghost"]))
            try await world.register(StoreWorld.registration("ghost", token: 9))
            let ghost = try await world.pushHistory("ghost")
            #expect(ghost.status == .ended(Self.unknown))
            #expect(
                ghost.steps == [PushStep(at: dawn, parcel: nil, leg: nil, attempts: 0, event: .ended(Self.unknown))])
            let retired = try await world.pushHistory("i2")
            let leg = RouteDescription(provider: .apns, environment: .production, topic: StoreWorld.topic)
            #expect(retired.status == .ended(Self.retired))
            #expect(
                retired.steps == [PushStep(at: dawn, parcel: nil, leg: leg, attempts: 0, event: .ended(Self.retired))])
            #expect(
                try await world.pushHistory("i3").status == .notInAudience,
                "other devices are known to be outside the audience")
            let parcel = try #require(try await world.lease())
            _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
            _ = try await world.stores.registry.removeDevice(app: world.app, installation: "i1")
            #expect(
                try await world.pushHistory("i1").status == .notKept,
                "the status was known until the device was removed")
        }
    }

    @Test("appears once among the failures if planning takes several slices")
    func slices() async throws {
        try await withStores { world in
            try await world.register(1...9)
            try await world.retire("i1", "i4", "i9")
            let ghosts = (1...9).map { "ghost\($0)" }
            try await world.plan(.installations(ghosts + (1...9).map { "i\($0)" }), idsMax: 4)
            let page = try await world.failures()
            #expect(page.items.filter { $0.terminalStatus == Self.unknown }.map(\.installation) == ghosts)
            #expect(page.items.filter { $0.terminalStatus == Self.retired }.map(\.installation) == ["i1", "i4", "i9"])
            #expect(try await world.account().providers.map { $0.count(.unregistered) } == [3])
            for name in ghosts { #expect(try await world.pushHistory(name).status == .ended(Self.unknown)) }
        }
    }

    @Test("appears as the user, or as the first of the user's retired devices")
    func users() async throws {
        try await withStores { world in
            for (place, user) in ["ann", "ann", "bob", "bob"].enumerated() {
                var registration = StoreWorld.registration("i\(place + 1)", token: place + 1)
                registration.profile[.user] = .set(user)
                try await world.register(registration)
            }
            try await world.retire("i1", "i3", "i4")
            try await world.plan(.users(["bob", "cid", "ann"]))
            let items = try await world.failures().items
            #expect(items.map(\.terminalStatus) == [TerminalStatus(.rejected, "unknown_user"), Self.retired])
            #expect(items.map(\.user) == ["cid", nil])
            #expect(items.map(\.installation) == [nil, "i3"])
            #expect(items.map(\.provider) == [nil, .apns])
            #expect(try await world.pushHistory("i3").status == .ended(Self.retired))
            #expect(try await world.pushHistory("i4").status == .notInAudience, "the user counts once")
        }
    }
}

@Suite("A named target with tokens of other kinds only")
struct OtherKindTests {
    @Test("ends with no_registration_of_kind instead of unknown_device")
    func reason() async throws {
        try await withStores { world in
            var notifier = StoreWorld.registration("ringer", token: 1, kind: .voip)
            notifier.profile[.user] = .set("ann")
            try await world.register(notifier)
            try await world.plan(.installations(["ghost", "ringer"]))
            let reasons = ["no_registration_of_kind", "unknown_device"]
            #expect(try await world.failures().items.map(\.terminalStatus.reason) == reasons)
            #expect(try await world.failures().items.map(\.installation) == ["ringer", "ghost"])
            #expect(try await world.pushHistory("ringer").status == .ended(TerminalStatus(.rejected, reasons[0])))
        }
    }

    @Test("ends with no_registration_of_kind instead of unknown_user if it is a user")
    func user() async throws {
        try await withStores { world in
            var notifier = StoreWorld.registration("ringer", token: 1, kind: .voip)
            notifier.profile[.user] = .set("ann")
            try await world.register(notifier)
            try await world.plan(.users(["ann", "bob"]))
            let items = try await world.failures().items
            #expect(items.map(\.terminalStatus.reason) == ["no_registration_of_kind", "unknown_user"])
            #expect(items.map(\.user) == ["ann", "bob"])
        }
    }
}

@Suite("A failure of an inline token")
struct InlineFailureTests {
    @Test("identifies its target by the token if no registration holds it")
    func token() async throws {
        try await withStores { world in
            try await world.register(1...1)
            let targets = [1, 9].map {
                InlineTarget(
                    provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token($0))
            }
            try await world.plan(.tokens(targets))
            let parcel = try #require(try await world.lease(formats: [1, 2]))
            let settled = parcel.settlingAll(as: TerminalStatus(.unregistered, "Unregistered"))
            _ = try await world.stores.parcels.settle([settled], now: dawn)[0].get()
            let items = try await world.failures().items
            #expect(items.map(\.installation) == ["i1", nil])
            #expect(items.map(\.token) == [nil, StoreWorld.token(9)])
        }
    }
}
