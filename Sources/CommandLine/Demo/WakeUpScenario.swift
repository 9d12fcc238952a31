import Foundation
import JSON

/// The story of the wake-up demonstration: an app, three phones, and changes to a node that they watch.
struct WakeUpScenario {
    static let app = "greenhouse"
    static let path = "/beds/roses"

    /// A change that the app's backend makes, and the words for it.
    struct Change: Sendable {
        let sentence: String
        let method: String
        /// The node below the watched one; empty: the watched one itself.
        let child: String
        let body: JSONValue
    }

    static let changes = [
        Change(
            sentence: "It writes the first data", method: "PUT", child: "", body: ["moisture": 41, "flower": "red"]),
        Change(
            sentence: "It changes one child, and adds another", method: "PATCH", child: "",
            body: ["moisture": 17, "pump": ["on": true]]),
        Change(sentence: "It writes below a child", method: "PUT", child: "/pump/on", body: false),
        Change(sentence: "It removes a child", method: "PUT", child: "/flower", body: .null),
    ]

    /// A virtual phone. Each run has tokens of its own, so that nothing arrives that an earlier run left behind.
    private struct Phone {
        let name: String
        let mode: String
        let token: String
        var wakeUps: [JSONValue] = []

        init(_ name: String, mode: String) {
            (self.name, self.mode) = (name, mode)
            token = "\(Self.prefix)-\(name):APA91b" + String(repeating: "q", count: 40)
        }

        private static let prefix = "greenhouse-\(UUID().uuidString)"
    }

    private let narrator: Narrator
    private let client: GatewayClient
    private let standIns: OwnStandIns
    private var phones = [
        Phone("phone-1", mode: "noData"), Phone("phone-2", mode: "value"), Phone("phone-3", mode: "childEvent"),
    ]

    /// A wake-up follows its change within two seconds.
    private static let wakeUpTimeout: Duration = .seconds(60)
    private static let pause: Duration = .milliseconds(50)

    init(narrator: Narrator, client: GatewayClient, standIns: OwnStandIns) {
        (self.narrator, self.client, self.standIns) = (narrator, client, standIns)
    }

    func prepare() async throws {
        let path = "/v1/apps/" + Self.app
        try await client.send("POST", "/v1/apps", ["slug": .string(Self.app), "name": "Greenhouse"], as: .app)
        for credential in try standIns.credentials() where credential.shown("provider") == "fcm" {
            try await client.send("POST", path + "/credentials", credential, as: .list(of: .credential))
        }
        try await client.send("PATCH", path, ["wakeup": ["enabled": true]], as: .app)
        let rules: JSONValue = ["rules": [".read": true]]
        _ = try await client.call("PUT", path + "/rules", rules.bytes)
        // An earlier run may have left data behind.
        try await client.order("DELETE", Self.node(""))
        narrator.write("The app is \(Self.app).")
    }

    func subscribe() async throws {
        for phone in phones {
            try await client.order("PUT", Self.subscription(of: phone) + "&mode=" + phone.mode)
            narrator.write("\(phone.name) subscribes in the mode \(phone.mode).")
        }
    }

    func unsubscribe() async throws {
        for phone in phones { try await client.order("DELETE", Self.subscription(of: phone)) }
        narrator.write("Further changes wake nobody.")
    }

    /// Makes a change, and waits until it has woken each phone.
    mutating func carryOut(_ change: Change) async throws {
        let body = String(decoding: change.body.bytes, as: UTF8.self)
        narrator.write("\(change.sentence): \(change.method) \(Self.path)\(change.child) \(body)")
        _ = try await client.call(change.method, Self.node(change.child), change.body.bytes)
        let clock = ContinuousClock()
        let limit = clock.now + Self.wakeUpTimeout
        for place in phones.indices {
            let known = phones[place].wakeUps.count
            var arrived: [JSONValue] = []
            while arrived.count <= known {
                guard clock.now < limit else {
                    throw CommandFault(.failed, "\(phones[place].name) was not woken within a minute")
                }
                try await Task.sleep(for: Self.pause)
                arrived = try await wakeUps(of: phones[place])
            }
            phones[place].wakeUps = arrived
            for data in arrived.dropFirst(known) {
                narrator.write("  \(phones[place].name) is woken: \(WakeUpText.sentence(of: data))")
            }
        }
    }

    /// The data maps of the pushes that a phone has received.
    private func wakeUps(of phone: Phone) async throws -> [JSONValue] {
        try await standIns.pushes(to: phone.token, at: standIns.fcm).compactMap {
            $0.object?["payload"]?.object?["message"]?.object?["data"]
        }
    }

    private static func node(_ child: String) -> String { "/base/\(app)\(path)\(child).json" }

    private static func subscription(of phone: Phone) -> String {
        "/base/\(app)/.wakeup\(path)?id=" + GatewayClient.escaped(phone.token)
    }

    var json: JSONValue {
        [
            "phones": .array(
                phones.map { phone in
                    ["phone": .string(phone.name), "mode": .string(phone.mode), "wake_ups": .array(phone.wakeUps)]
                })
        ]
    }
}
