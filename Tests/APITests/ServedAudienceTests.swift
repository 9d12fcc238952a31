import Basis
import Calendar
import Listener
import Model
import Reactor
import Testing

@Suite("The count of an audience in the API")
struct ServedAudienceTests {
    private static let devices: [(name: String, members: String)] = [
        ("anns-phone", #", "user": "ann", "locale": "fr-CA", "time_zone": "America/Toronto", "tags": ["news"]"#),
        ("bobs-phone", #", "user": "bob", "locale": "de", "time_zone": "Europe/Berlin""#),
        ("old-phone", ""),
    ]

    private func register(_ world: GatewayWorld, _ app: String) async throws {
        for (number, device) in Self.devices.enumerated() {
            let body = GatewayWorld.registration(number, device.members)
            try await world.expect(201, "PUT", "\(app)/devices/\(device.name)", body)
        }
    }

    @Test("has the count, its parts, and the names that no device has")
    func answer() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await register(world, app)
            let all = try await world.expect(200, "POST", app + "/audience", #"{"audience": {"all": true}}"#)
            #expect(
                all.text == #"{"count":3,"exact":true,"unknown":0,"by":{"provider":{"apns":3},"#
                    + #""language":{"de":1,"fr":1,"none":1},"#
                    + #""time_zone":{"America/Toronto":1,"Europe/Berlin":1,"none":1}}}"#)
            let named = #"{"audience": {"installations": ["old-phone", "lost-phone"]}}"#
            let reply = try await world.expect(200, "POST", app + "/audience", named)
            #expect(try reply.member("count") == 1 && reply.member("unknown") == 1)
            #expect(try await world.expect(200, "GET", app + "/messages").text == #"{"items":[],"next":null}"#)
        }
    }

    @Test("has the push type's kind, and the devices that a local hour reaches too late")
    func options() async throws {
        try await withGateway { world in
            let path = try await world.makeApp()
            try await register(world, path)
            func count(_ options: String) async throws -> WireReply {
                try await world.expect(
                    200, "POST", path + "/audience", #"{"audience": {"all": true}, "options": {\#(options)}}"#)
            }
            #expect(try await count(#""push_type": "voip""#).member("count") == 0)
            let now = WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970)
            func local(_ hour: WallInstant, _ more: String = "") async throws -> WireReply {
                try await count(
                    #""device_local_time": true, "send_at": "\#(RFC3339.formatLocal(hour))"\#(more)"#)
            }
            let late = try await local(now + .seconds(-600))
            #expect(try late.member("count") == 3)
            // The app's zone, UTC, and Berlin's are past it; Toronto's clock is hours behind.
            #expect(try late.member("passed") == 2)
            let yesterday = now + .seconds(-86_400)
            let all = try await local(yesterday, #", "local_time_passed": "send""#)
            #expect(try all.member("passed") == 3)
            let options = #"{"device_local_time": true, "send_at": "\#(RFC3339.formatLocal(yesterday))"}"#
            try await world.refuse(
                .invalidValue, "POST", path + "/audience", #"{"audience": {"all": true}, "options": \#(options)}"#,
                pointer: "/options/send_at")
        }
    }

    @Test("takes the scope that a message to the same audience takes")
    func scopes() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            for scope in ["messages", "broadcast", "devices"] {
                let made = try await world.expect(
                    201, "POST", app + "/keys", #"{"name": "\#(scope)", "scopes": ["\#(scope)"]}"#)
                let key = try #require(try made.member("key")?.string)
                for (audience, opens) in [(#""users": ["ann"]"#, "messages"), (#""all": true"#, "broadcast")] {
                    let reply = try await world.call(
                        "POST", app + "/audience", #"{"audience": {\#(audience)}}"#, key: key)
                    #expect(reply.status == (scope == opens ? 200 : 403), "\(scope) for \(audience)")
                }
            }
        }
    }

    @Test("waits for its turn among the app's other costly reads")
    func admission() async throws {
        var limits = GatewayLimits()
        // An app always gets its first place, unless fewer than none are left.
        limits.costlyReadsMax = -1
        limits.costlyReadsWaitingPerAppMax = 0
        try await withGateway(limits: limits) { world in
            let app = try await world.makeApp()
            try await world.refuse(.overloaded, "POST", app + "/audience", #"{"audience": {"all": true}}"#)
        }
    }
}
