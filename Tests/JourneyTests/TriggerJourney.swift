import JSON
import Simulator
import TestSupport
import Testing

/// A gateway whose app "garden" has subscriptions to items, with the calls of its backend and of ann's app on her phones.
struct TriggerJourney: Sendable {
    let world: World
    let gateway: Gateway
    /// The API with ann's token.
    let ann: GatewayAPI

    static let app = "/v1/apps/garden"
    static let iPhone = [Device](.live, 1)[0]
    static let android = Device(installation: "android", token: "live-stocks-0000000000000000")

    static func within(_ body: (TriggerJourney) async throws -> Void) async throws {
        try await World.within { world in
            let gateway = try await world.gateway()
            try await world.fill(.garden, [], through: gateway)
            try await gateway.api.expect(201, "POST", "\(app)/credentials", world.google.credential)
            try await gateway.api.expect(201, "POST", "\(app)/user-keys", UserTokens.submission)
            let journey = try TriggerJourney(world, gateway)
            try await journey.set(
                #"""
                {"enabled": true, "pause_seconds": 0,
                 "hooks": {"device": "auth.sub != null", "activation": "auth.sub != null", "token": "auth.sub != null"}}
                """#)
            try await body(journey)
        }
    }

    private init(_ world: World, _ gateway: Gateway) throws {
        (self.world, self.gateway) = (world, gateway)
        ann = try Self.api(of: "ann", at: gateway)
    }

    private static func api(of user: String, at gateway: Gateway) throws -> GatewayAPI {
        GatewayAPI(base: gateway.api.base, key: try UserTokens.token(of: user))
    }

    func api(of user: String) throws -> GatewayAPI { try Self.api(of: user, at: gateway) }

    /// Stops the gateway, and goes on with another process on the same database.
    func restarted() async throws -> TriggerJourney {
        try await gateway.stopGently()
        return try TriggerJourney(world, try await world.gateway())
    }

    /// Changes the app's settings.
    func set(_ triggers: String) async throws {
        try await gateway.api.expect(200, "PATCH", Self.app, #"{"triggers": \#(triggers)}"#)
    }

    /// Updates the item as the backend does.
    func update(_ fields: String, of item: String = "anduct") async throws {
        try await gateway.api.expect(204, "POST", "\(Self.app)/items/\(item)/updates", fields)
    }
}

/// The calls of ann's app.
extension TriggerJourney {
    struct Subscription: Decodable {
        let key: String
        let status: String
        let trigger: String?
    }

    private struct Registration: Decodable { let tokenStatus: String }
    private struct Listed: Decodable { let items: [Subscription] }
    private struct Refusal: Decodable { let code: String }

    static func device(_ phone: Device) -> String { "\(app)/devices/\(phone.installation)" }
    static func subscriptions(_ phone: Device) -> String { device(phone) + "/subscriptions" }
    static func subscription(_ key: String, _ phone: Device = iPhone) -> String { "\(subscriptions(phone))/\(key)" }

    /// The body of a registration with a user's token.
    static func registration(_ phone: Device) -> String {
        phone.installation == android.installation
            ? #"{"provider": "fcm", "token": "\#(phone.token)"}"# : phone.registration(named: false)
    }

    /// Registers the phone; returns the token's status.
    @discardableResult
    func register(_ phone: Device) async throws -> String {
        let reply = try await ann.call("PUT", Self.device(phone), Self.registration(phone))
        #expect([200, 201].contains(reply.status), "\(reply.text)")
        return try reply.decoded(Registration.self).tokenStatus
    }

    @discardableResult
    func activate(
        _ terms: String, _ phone: Device = iPhone, expecting status: Int = 201
    ) async throws -> Subscription {
        try await ann.expect(status, "POST", Self.subscriptions(phone), terms).decoded(Subscription.self)
    }

    @discardableResult
    func modify(_ key: String, _ change: String) async throws -> Subscription {
        try await ann.expect(200, "PATCH", Self.subscription(key), change).decoded(Subscription.self)
    }

    func status(of key: String) async throws -> String {
        try await ann.expect(200, "GET", Self.subscription(key)).decoded(Subscription.self).status
    }

    /// The keys of the phone's subscriptions; with a status, of those that have it.
    func keys(_ status: String? = nil, _ phone: Device = iPhone) async throws -> Set<String> {
        let path = Self.subscriptions(phone) + (status.map { "?status=\($0)" } ?? "")
        return Set(try await ann.expect(200, "GET", path).decoded(Listed.self).items.map(\.key))
    }

    /// Deactivates all subscriptions of the phone that have the status.
    func deactivate(_ status: String, _ phone: Device = iPhone) async throws {
        let reply = try await ann.call("DELETE", "\(Self.subscriptions(phone))?status=\(status)")
        #expect([200, 204].contains(reply.status), "\(reply.text)")
    }

    /// Expects that a call is refused with this code.
    func refused(
        _ status: Int, _ code: String, _ method: String, _ path: String, _ body: String? = nil,
        by api: GatewayAPI? = nil
    ) async throws {
        let reply = try await (api ?? ann).expect(status, method, path, body)
        #expect(try reply.decoded(Refusal.self).code == code, "\(method) \(path): \(reply.text)")
    }

    /// Expects that an activation of ann's iPhone is refused with this code.
    func refused(_ status: Int, _ code: String, activation terms: String) async throws {
        try await refused(status, code, "POST", Self.subscriptions(Self.iPhone), terms)
    }
}

/// The pushes that the phones received.
extension TriggerJourney {
    /// The payloads that the iPhone received, in their order, once there are as many.
    func payloads(_ count: Int, of phone: Device = iPhone) async throws -> [JSONObject] {
        let simulator = world.production.simulator
        try await eventually("\(count) pushes at the iPhone") {
            await simulator.received(phone.deviceToken).count { $0.reason == nil } >= count
        }
        return try await simulator.received(phone.deviceToken).filter { $0.reason == nil }.compactMap { push in
            try JSONReader.read(push.body).object
        }
    }

    /// The texts that the iPhone showed, in their order, once there are as many.
    func shown(_ count: Int, of phone: Device = iPhone) async throws -> [String] {
        try await payloads(count, of: phone).map { payload in
            payload["aps"]?.object?["alert"]?.object?["body"]?.string ?? "no text"
        }
    }

    /// The messages that the Android phone received, in their order, once there are as many.
    func messages(_ count: Int) async throws -> [JSONObject] {
        try await eventually("\(count) pushes at the Android phone") {
            try await world.google.messages(to: Self.android.token).count >= count
        }
        return try await world.google.messages(to: Self.android.token)
    }
}
