import Model
import Testing

@Suite("A kind of an installation that is unregistered")
struct RemovedKindTests {
    @Test("goes alone, with its badge and tags")
    func alone() async throws {
        try await withStores { world in
            var alert = StoreWorld.registration("i1", token: 1)
            alert.profile.tags = .set(["news"])
            var voip = StoreWorld.registration("i1", token: 2, kind: .voip)
            voip.profile.tags = .set(["calls"])
            try await world.register(alert)
            try await world.register(voip)
            let registry = world.stores.registry
            #expect(try await registry.removeDevice(app: world.app, installation: "i1", kind: .widget) == 0)
            #expect(try await registry.removeDevice(app: world.app, installation: "i1", kind: .voip) == 1)
            #expect(try await registry.devices(app: world.app, installation: "i1").map(\.kind) == [.alert])
            #expect(try await world.number("SELECT count(*) FROM registration_pulse") == 1)
            #expect(try await world.number("SELECT count(*) FROM registration_tags") == 1)
            #expect(try await registry.removeDevice(app: world.app, installation: "i1", kind: .voip) == 0)
        }
    }

    @Test("ends the pushes to its own token only")
    func pushes() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.register(StoreWorld.registration("i2", token: 3, kind: .voip))
            try await world.send(world.newMessage())
            let registry = world.stores.registry
            _ = try await registry.removeDevice(app: world.app, installation: "i1", kind: .alert)
            _ = try await registry.removeDevice(app: world.app, installation: "i2", kind: .voip)
            let parcel = try #require(try await world.lease())
            #expect(parcel.members.map(\.status) == [.deleted, .present])
        }
    }
}
