import Basis
import Model
import Testing

private let dawn = StoreWorld.dawn

@Suite("A registration older than the stored one")
struct StaleRegistrationTests {
    private func imported(_ installation: String, token seed: Int, asOf: WallInstant) -> DeviceRegistration {
        var registration = StoreWorld.registration(installation, token: seed)
        registration.asOf = asOf
        return registration
    }

    @Test("changes nothing about a device that registered without a time")
    func ownTimeless() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i1", token: 2))
            let known = try await world.device("i1")
            let backup = imported("i1", token: 1, asOf: dawn + .microseconds(-1))
            let device = try await world.register(backup, at: dawn + .seconds(60))
            #expect(device.change == .stale)
            #expect(device.record == known)
            #expect(try await world.feed().isEmpty)
        }
    }

    @Test("changes nothing about a device whose latest registration is newer but has no time")
    func ownRenewed() async throws {
        try await withStores { world in
            try await world.register(imported("i1", token: 1, asOf: dawn))
            try await world.register(StoreWorld.registration("i1", token: 2), at: dawn + .seconds(60))
            let backup = imported("i1", token: 1, asOf: dawn + .seconds(59))
            #expect(try await world.register(backup, at: dawn + .seconds(90)).change == .stale)
            #expect(try await world.device("i1").token == StoreWorld.token(2))
            let later = imported("i1", token: 3, asOf: dawn + .seconds(60))
            #expect(try await world.register(later, at: dawn + .seconds(90)).change == .replaced)
        }
    }

    @Test("takes no token from a later holder, and is answered with that holder's device")
    func holder() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("today", token: 1))
            let known = try await world.device("today")
            let backup = imported("yesterday", token: 1, asOf: dawn + .seconds(-86_400))
            let device = try await world.register(backup, at: dawn + .seconds(60))
            #expect(device.change == .stale)
            #expect(device.record == known)
            #expect(try await world.device("today") == known)
            #expect(try await world.stores.registry.devices(app: world.app, installation: "yesterday").isEmpty)
            #expect(try await world.feed().isEmpty)
        }
    }

    @Test("leaves the device its own token when the requested token has a later holder")
    func holderOfAnother() async throws {
        try await withStores { world in
            try await world.register(imported("i1", token: 1, asOf: dawn))
            try await world.register(imported("i2", token: 2, asOf: dawn + .seconds(20)))
            let registration = imported("i1", token: 2, asOf: dawn + .seconds(10))
            let device = try await world.register(registration, at: dawn + .seconds(60))
            #expect(device.change == .stale)
            #expect(device.record.installation == "i1" && device.record.token == StoreWorld.token(1))
            #expect(try await world.device("i2").state == .active)
            let later = imported("i1", token: 2, asOf: dawn + .seconds(20))
            #expect(try await world.register(later, at: dawn + .seconds(60)).change == .moved)
        }
    }

    @Test("affects no other registration of its batch, and still creates a new device")
    func neighbours() async throws {
        try await withStores { world in
            try await world.register(1...2)
            let batch = [
                imported("i1", token: 7, asOf: dawn + .seconds(-1)),
                imported("i3", token: 2, asOf: dawn + .seconds(-1)),
                StoreWorld.registration("i4", token: 1), imported("i5", token: 5, asOf: dawn + .seconds(-1)),
            ]
            let answers = await world.stores.registry.register(batch, app: world.app, now: dawn + .seconds(60))
            let devices = try answers.map { try $0.get() }
            #expect(devices.map(\.change) == [.stale, .stale, .moved, .created])
            #expect(devices.map(\.record.installation) == ["i1", "i2", "i4", "i5"])
        }
    }

    @Test("excludes every registration without a time, even if the stored time is in the future")
    func fastClock() async throws {
        try await withStores { world in
            try await world.register(imported("i1", token: 1, asOf: dawn + .seconds(300)))
            #expect(try await world.register(StoreWorld.registration("i1", token: 2)).change == .replaced)
            #expect(try await world.register(StoreWorld.registration("i2", token: 2)).change == .moved)
        }
    }
}
