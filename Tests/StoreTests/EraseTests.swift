import Model
import Testing

private let dawn = StoreWorld.dawn

@Suite("A user who is erased")
struct EraseTests {
    private static func registration(
        _ installation: String, token: Int, user: String?, kind: TokenKind = .alert
    ) -> DeviceRegistration {
        var registration = StoreWorld.registration(installation, token: token, kind: kind)
        if let user { registration.profile[.user] = .set(user) }
        return registration
    }

    @Test("loses every device and every name in the feed, and other users keep theirs")
    func devices() async throws {
        try await withStores { world in
            let registry = world.stores.registry
            try await world.register(Self.registration("phone", token: 1, user: "ada"))
            try await world.register(Self.registration("phone", token: 2, user: nil, kind: .voip))
            try await world.register(Self.registration("phone", token: 3, user: "eve", kind: .widget))
            try await world.register(Self.registration("tablet", token: 4, user: "ada"))
            try await world.register(Self.registration("other", token: 5, user: "eve"))
            // The feed gets an entry for each device.
            for (place, name) in ["phone", "tablet", "other", "phone"].enumerated() {
                try await world.register(StoreWorld.registration(name, token: 11 + place))
            }
            let neighbour = try await registry.createApp(slug: "neighbour", name: "Neighbour").id
            try await world.register(Self.registration("phone", token: 1, user: "ada"), app: neighbour)
            let report = try await registry.erase(user: "ada", app: world.app)
            #expect(report.registrations == 3)
            #expect(report.feedback == 3)
            #expect(try await registry.devices(app: world.app, installation: "tablet").isEmpty)
            #expect(try await registry.devices(app: world.app, installation: "phone").map(\.kind) == [.widget])
            #expect(try await world.device("other").profile[.user] == "eve")
            #expect(try await registry.devices(app: neighbour, installation: "phone").count == 1)
            let names = try await world.feed().map(\.installation)
            #expect(names.count == 4 && names[2] == "other")
            #expect(names[0] == names[3], "entries of one device keep one name in common")
            #expect(names[0] != names[1])
            #expect([names[0], names[1]].allSatisfy { $0.hasPrefix("erased-") && $0.utf8.count == 43 })
            let again = try await registry.erase(user: "ada", app: world.app)
            #expect(again.registrations == 0 && again.feedback == 0)
        }
    }

    @Test("loses all devices even if there are more than a thousand")
    func many() async throws {
        try await withStores { world in
            let batch = (1...1_201).map { Self.registration("i\($0)", token: $0, user: "kiosk") }
            for answer in await world.stores.registry.register(batch, app: world.app) { _ = try answer.get() }
            try await world.register(Self.registration("mine", token: 9_999, user: "ada"))
            #expect(try await world.stores.registry.erase(user: "kiosk", app: world.app).registrations == 1_201)
            #expect(try await world.number("SELECT count(*) FROM registrations") == 1)
        }
    }

    @Test("ends open pushes as device_deleted, which still count in the message's totals")
    func pushes() async throws {
        try await withStores { world in
            try await world.register(Self.registration("i1", token: 1, user: "ada"))
            try await world.register(Self.registration("i2", token: 2, user: "eve"))
            try await world.send(world.newMessage())
            _ = try await world.stores.registry.erase(user: "ada", app: world.app)
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.status) == [.deleted, .present])
            let terminalCounts = [
                (0..<1, TerminalStatus(.unregistered, "device_deleted")), (1..<2, TerminalStatus(.accepted)),
            ]
            _ = try await world.stores.parcels.settle([parcel.settling(terminalCounts)], now: dawn)[0].get()
            let account = try await world.account()
            #expect(account.audience == 2)
            #expect(account.count(.accepted) == 1 && account.count(.unregistered) == 1)
        }
    }
}
