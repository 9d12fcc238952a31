import Model
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("The account of a message by provider")
struct ProviderAccountTests {
    /// Registers six devices of APNs and four of FCM.
    private func register(_ world: StoreWorld) async throws {
        try await world.register(1...6)
        for number in 7...10 {
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.provider = .fcm
            try await world.register(registration)
        }
    }

    private func lease(_ world: StoreWorld, _ provider: Provider) async throws -> LeasedParcel {
        let route = try await world.number(
            "SELECT id FROM routes WHERE provider = \(provider.rawValue) AND environment = 1")
        let order = LeaseOrder(
            route: RouteID(Int64(route)), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
        return try #require(try await world.stores.parcels.lease(order, now: dawn).parcel)
    }

    @Test("adds up after each settle, open parcels included")
    func addsUp() async throws {
        try await withStores { world in
            try await register(world)
            try await world.send(world.newMessage())
            let apple = try await lease(world, .apns)
            _ = try await world.stores.parcels.settle(
                [apple.settling([(0..<2, TerminalStatus(.accepted))])], now: dawn)[0].get()
            #expect(
                try await world.account().providers == [
                    ProviderAccount(provider: .apns, outcomes: [2, 0, 0, 0, 0, 0, 0], pending: 4),
                    ProviderAccount(provider: .fcm, outcomes: [0, 0, 0, 0, 0, 0, 0], pending: 4),
                ])
            let google = try await lease(world, .fcm)
            let ends = [(0..<3, TerminalStatus(.accepted)), (3..<4, TerminalStatus(.unregistered, "UNREGISTERED"))]
            _ = try await world.stores.parcels.settle([google.settling(ends)], now: dawn)[0].get()
            let remaining = Settlement(
                parcel: apple.id, message: apple.message, route: apple.route, epoch: 1, settles: 1,
                terminalCounts: [TerminalCount(terminalStatus: TerminalStatus(.rejected, "BadTopic"), count: 4)],
                settledBits: [0b11_1111],
                remainders: [], pendingAfter: 0)
            for _ in 1...2 { _ = try await world.stores.parcels.settle([remaining], now: dawn)[0].get() }
            let account = try await world.account()
            #expect(
                account.providers == [
                    ProviderAccount(provider: .apns, outcomes: [2, 4, 0, 0, 0, 0, 0], pending: 0),
                    ProviderAccount(provider: .fcm, outcomes: [3, 0, 1, 0, 0, 0, 0], pending: 0),
                ])
            #expect(account.providers.reduce(0) { $0 + $1.members } == account.audience)
        }
    }

    @Test("counts a moved push under its new provider, and an unknown device under none")
    func movedAndUnknown() async throws {
        try await withStores { world in
            try await register(world)
            try await world.send(world.newMessage(audience: .installations(["i1", "i2", "i7", "stranger"])))
            let apple = try await lease(world, .apns)
            let google = try await lease(world, .fcm)
            let over = apple.settling(
                [(0..<1, TerminalStatus(.accepted))], remainders: [apple.remainder(1..<2, route: google.route)])
            _ = try await world.stores.parcels.settle([over], now: dawn)[0].get()
            for parcel in [google, try await lease(world, .fcm)] {
                _ = try await world.stores.parcels.settle([parcel.settlingAll()], now: dawn)[0].get()
            }
            let account = try await world.account()
            #expect(account.state == .finished && account.audience == 4)
            #expect(
                account.providers == [
                    ProviderAccount(provider: .apns, outcomes: [1, 0, 0, 0, 0, 0, 0], pending: 0),
                    ProviderAccount(provider: .fcm, outcomes: [2, 0, 0, 0, 0, 0, 0], pending: 0),
                ])
        }
    }
}
