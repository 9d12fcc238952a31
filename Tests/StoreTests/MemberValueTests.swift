import Content
import Expressions
import Model
import QueueRules
import Store
import Testing

@Suite("A query for the values of a parcel's members")
struct MemberValueTests {
    private static let fields: [DeviceField] = [
        .text(.installation), .text(.profile(.user)), .text(.profile(.locale)), .text(.profile(.timeZone)),
        .text(.profile(.appVersion)),
        .attribute(AttributePath(["name"])), .attribute(AttributePath(["a b", "0"])),
    ]

    private static func texts(_ values: MemberValues, _ member: Int, fields: Int) -> [String] {
        (0..<fields).map { String(decoding: values.bytes[values.range(of: member, field: $0)], as: UTF8.self) }
    }

    private static func register(
        _ world: StoreWorld, _ name: String, token: Int, attributes: String, isTalkative: Bool = false
    ) async throws -> RegistrationID {
        var registration = StoreWorld.registration(name, token: token)
        registration.profile.attributes = .set(Array(attributes.utf8))
        if isTalkative {
            registration.profile[.user] = .set("ann")
            registration.profile[.locale] = .set("fr-CA")
            registration.profile[.timeZone] = .set("Europe/Paris")
            registration.profile[.appVersion] = .set("4.2")
        }
        return try await world.register(registration).record.id
    }

    @Test("returns texts in the order of the requested fields")
    func reads() async throws {
        try await withStores { world in
            let registration: [(String, [String])] = [
                (#"{"name": "Ann \"\\\u2028\n🔔", "a b": {"0": "deep"}}"#, ["Ann \"\\\u{2028}\n🔔", "deep"]),
                (#"{"name": 12.50, "a b": {"0": true}}"#, ["12.50", "true"]),
                (#"{"name": false, "a b": ["first"]}"#, ["false", ""]),
                (#"{"name": null, "a b": "0"}"#, ["", ""]), (#"{"name": ["x"], "a b": {"0": {"x": 1}}}"#, ["", ""]),
                ("{}", ["", ""]),
            ]
            var members: [RegistrationID] = []
            for (place, (attributes, _)) in registration.enumerated() {
                members.append(
                    try await Self.register(
                        world, "i\(place)", token: place, attributes: attributes, isTalkative: place == 1))
            }
            // One registration is deleted meanwhile, and one id is far away, so that a single scan does not find all.
            let (near, far) = (members + [RegistrationID(members.last!.value + 1)], RegistrationID(1_000_000))
            for asked in [near, near + [far]] {
                let values = try await world.stores.parcels.values(of: asked, Self.fields)
                #expect(values.readCount == asked.count)
                for (place, (_, attributes)) in registration.enumerated() {
                    let own = place == 1 ? ["ann", "fr-CA", "Europe/Paris", "4.2"] : ["", "", "", ""]
                    #expect(Self.texts(values, place, fields: 7) == ["i\(place)"] + own + attributes)
                }
                #expect(Self.texts(values, registration.count, fields: 7) == Array(repeating: "", count: 7))
            }
        }
    }

    @Test("stops at its byte limit, which grows with the number of parcels")
    func bounded() async throws {
        try await withStores { world in
            let long = String(repeating: "x", count: 7_000)
            var members: [RegistrationID] = []
            for place in 0..<20 {
                members.append(
                    try await Self.register(world, "i\(place)", token: place, attributes: #"{"name": "\#(long)"}"#))
            }
            let fields = [DeviceField.attribute(AttributePath(["name"]))]
            let values = try await world.stores.parcels.values(of: members, fields)
            let kept = (ValueLimits.bytesMin + ValueLimits.valueCharactersMax - 1) / ValueLimits.valueCharactersMax
            #expect(values.readCount == kept && kept < members.count)
            #expect(values.range(of: kept - 1, field: 0).count == ValueLimits.valueCharactersMax)
            // Several parcels together get the limit of each.
            let together = try await world.stores.parcels.values(
                of: members, fields, bytesMax: 2 * ValueLimits.bytesMin)
            #expect(together.readCount == members.count)
        }
    }

    @Test("accepts any attribute name, even one that contains SQL")
    func quoted() async throws {
        try await withStores { world in
            let name = #"x'; DROP TABLE apps; --"#
            let id = try await Self.register(world, "i1", token: 1, attributes: #"{"\#(name)": "here"}"#)
            let values = try await world.stores.parcels.values(of: [id], [.attribute(AttributePath([name]))])
            #expect(Self.texts(values, 0, fields: 1) == ["here"])
        }
    }
}
