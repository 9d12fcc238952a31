import CommandLine
import Foundation
import JSON

/// An app with APNs devices, all of whose pushes the sink accepts.
struct BroadcastFixture {
    /// The figures of one broadcast, from the answer to its request until the last push was settled.
    struct Broadcast {
        let time: Duration
        /// The time until the sink had its first push, or a little longer.
        let first: Duration
        let used: BenchUsage
    }

    let world: BenchWorld
    let devices: Int
    /// Whether each push holds values of its device.
    var hasValues = false
    private static let pollEvery: Duration = .milliseconds(10)
    /// Each query is work of the gateway and of PostgreSQL that no push causes.
    private static let queryAccount: Duration = .milliseconds(100)
    private static let timeout: Duration = .seconds(600)

    /// Imports the devices, unless an earlier run left them there.
    func fill() async throws {
        try await world.fill()
        if await world.has(devices: devices) { return }
        _ = try await DeviceImport(world: world, devices: devices).run()
    }

    /// - Parameters:
    ///   - audience: the audience in the API's form; by default all devices.
    ///   - options: the message's options.
    func message(to audience: JSONValue = ["all": true], options: [JSONMember] = []) -> JSONValue {
        let title =
            hasValues ? "{{installation}}, {{attributes.first_name | default: 'dear reader'}}" : "Carillon"
        return [
            "audience": audience, "badge": "increment", "sound": "default",
            "notification": [
                "title": .string(title), "body": "Twelve o'clock in the garden, and the roses are in bloom",
            ],
            "data": ["article": "42", "section": "weather and tides", "number": "4711"],
            "options": .object(JSONObject(options)),
        ]
    }

    /// Sends one push, which opens connections and prepares statements.
    func warmUp() async throws {
        _ = try await broadcast(
            message(to: ["installations": .array([.string(BenchDevice(number: 1).installation)])]), reaching: 1)
    }

    func broadcast() async throws -> Broadcast { try await broadcast(message(), reaching: devices) }

    private func broadcast(_ message: JSONValue, reaching count: Int) async throws -> Broadcast {
        let before = try world.used()
        let sunk = try await world.standIns.requests()
        let accepted = try await world.client.send("POST", BenchWorld.app + "/messages", message, as: .message)
        let clock = ContinuousClock()
        let start = clock.now
        let path = BenchWorld.app + "/messages/" + accepted.shown("id")
        while try await world.standIns.requests() == sunk, clock.now - start < Self.timeout {
            try await Task.sleep(for: Self.pollEvery)
        }
        let first = clock.now - start
        while true {
            let account = try await world.client.get(path, as: .message)
            if account.shown("state") == "finished" {
                let took = clock.now - start
                guard account.object?["outcomes"]?.count("accepted") == Int64(count) else {
                    throw CommandFault(
                        .failed, "not every push was accepted: \(String(decoding: account.bytes, as: UTF8.self))")
                }
                return Broadcast(time: took, first: first, used: try world.used() - before)
            }
            guard clock.now - start < Self.timeout else {
                throw CommandFault(.failed, "the broadcast has not finished in ten minutes")
            }
            try await Task.sleep(for: Self.queryAccount)
        }
    }
}
