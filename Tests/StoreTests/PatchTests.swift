import Model
import Store
import Testing

private let limits = DevicePatchLimits(tagsMax: 4, attributesBytesMax: 40, attributesMembersMax: 4)

@Suite("A patch of a device")
struct PatchTests {
    private static func patch(
        _ world: StoreWorld, _ installation: String = "i1", kind: TokenKind? = nil,
        _ change: (inout DevicePatch) -> Void
    ) async throws -> DevicePatchReply {
        var patch = DevicePatch()
        change(&patch)
        return try await world.stores.registry.patch(
            patch, app: world.app, installation: installation, kind: kind, limits: limits)
    }

    @Test("changes the named fields of every kind, and neither the token nor any time")
    func everyKind() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            (registration.profile[.user], registration.profile[.locale]) = (.set("ada"), .set("en"))
            (registration.profile.tags, registration.profile.attributes) = (
                .set(["news", "sport"]), .set(Array(#"{"a":1,"b":{"c":2}}"#.utf8))
            )
            let before = try await world.register(registration).record
            try await world.register(StoreWorld.registration("i1", token: 2, kind: .voip))
            let reply = try await Self.patch(world) { patch in
                patch.profile[.user] = .clear
                patch.profile[.timeZone] = .set("Europe/Paris")
                (patch.tagsAdded, patch.tagsRemoved) = (["weather", "sport"], ["news", "none"])
                patch.profile.attributes = .set(Array(#"{"a":null,"b":{"d":3}}"#.utf8))
            }
            let alert = try await world.device("i1")
            #expect(
                alert.profile[.user] == nil && alert.profile[.locale] == "en"
                    && alert.profile[.timeZone] == "Europe/Paris")
            #expect(alert.profile.tags == ["sport", "weather"])
            #expect(String(decoding: alert.profile.attributes, as: UTF8.self) == #"{"b": {"c": 2, "d": 3}}"#)
            #expect(alert.token == before.token && alert.registeredAt == before.registeredAt)
            let both = try await world.stores.registry.devices(app: world.app, installation: "i1")
            #expect(reply == .patched(both))
            #expect(both[1].profile[.timeZone] == "Europe/Paris" && both[1].profile.tags == ["weather", "sport"])
            _ = try await Self.patch(world, kind: .voip) { $0.profile[.timeZone] = .clear }
            #expect(try await world.device("i1").profile[.timeZone] == "Europe/Paris")
            #expect(try await world.number("SELECT count(*) FROM registration_tags") == 4)
        }
    }

    @Test("writes nothing when it changes no value")
    func nothingNew() async throws {
        try await withStores { world in
            var registration = StoreWorld.registration("i1", token: 1)
            (registration.profile[.user], registration.profile.tags) = (.set("ada"), .set(["news"]))
            try await world.register(registration)
            let before = try await world.number("SELECT xmin::text::int8 FROM registrations")
            _ = try await Self.patch(world) { ($0.profile[.user], $0.tagsAdded) = (.set("ada"), ["news"]) }
            #expect(try await world.number("SELECT xmin::text::int8 FROM registrations") == before)
        }
    }

    @Test("fails when it would exceed a limit of the device, and then changes nothing")
    func tooMuch() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i1", token: 1))
            let tags = try await Self.patch(world) { $0.tagsAdded = ["1", "2", "3", "4", "5"] }
            #expect(tags == .tooManyTags(5))
            let long = Array(#"{"a":"\#(String(repeating: "x", count: 40))"}"#.utf8)
            let refused = try await Self.patch(world) { patch in
                patch.profile[.user] = .set("ada")
                patch.profile.attributes = .set(long)
            }
            #expect(refused == .attributesTooLong(bytes: long.count))
            let many = Array(#"{"a":1,"b":{"c":2,"d":3,"e":4}}"#.utf8)
            let tooMany = try await Self.patch(world) { $0.profile.attributes = .set(many) }
            #expect(tooMany == .tooManyAttributes(members: 5))
            #expect(try await world.device("i1").profile[.user] == nil)
            let unknown = try await Self.patch(world, "i2") { $0.profile[.user] = .clear }
            #expect(unknown == .unknownDevice)
            let otherKind = try await Self.patch(world, kind: .voip) { $0.profile[.user] = .clear }
            #expect(otherKind == .unknownDevice)
        }
    }

    @Test("keeps the tags that other patches add at the same moment")
    func atOnce() async throws {
        try await withStores { world in
            try await world.register(StoreWorld.registration("i1", token: 1))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...4 {
                    group.addTask {
                        _ = try await world.insisting {
                            try await Self.patch(world) { $0.tagsAdded = ["t\(number)"] }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await world.device("i1").profile.tags.sorted() == ["t1", "t2", "t3", "t4"])
        }
    }
}
