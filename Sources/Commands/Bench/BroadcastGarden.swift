import Foundation
import JSON

/// An app of APNs devices, all of which a sink accepts.
struct BroadcastGarden {
    /// From the answer to its request until the last push was settled.
    struct Broadcast {
        let time: Duration
        let used: BenchUsage
    }

    let world: BenchWorld
    let devices: Int
    private static let look: Duration = .milliseconds(10)
    private static let patience: Duration = .seconds(600)

    /// Distinct, and as long as APNs'.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "a11e" + String(repeating: "0", count: 60 - digits.count) + digits
    }

    /// Those of an earlier run are used again.
    func furnish() async throws {
        try await world.furnish()
        let last = BenchWorld.app + "/devices/phone-\(devices)"
        if (try? await world.client.get(last, as: .wholeDevice)) != nil { return }
        let importing = DeviceImport(world: world, devices: devices) {
            #"{"installation":"phone-\#($0)","provider":"apns","topic":"\#(OwnStandIns.topic)","#
                + #""token":"\#(Self.token($0))"}"#
        }
        _ = try await importing.run()
    }

    func broadcast() async throws -> Broadcast {
        let before = try world.used()
        let message: JSONValue = [
            "audience": ["all": true], "badge": "increment", "sound": "default",
            "notification": [
                "title": "Carillon", "body": "Twelve o'clock in the garden, and the roses are in bloom",
            ],
            "data": ["article": "42", "section": "weather and tides", "number": "4711"],
        ]
        let accepted = try await world.client.send("POST", BenchWorld.app + "/messages", message, as: .message)
        let clock = ContinuousClock()
        let start = clock.now
        let path = BenchWorld.app + "/messages/" + accepted.shown("id")
        while true {
            let account = try await world.client.get(path, as: .message)
            if account.shown("state") == "finished" {
                let took = clock.now - start
                guard account.object?["outcomes"]?.count("accepted") == Int64(devices) else {
                    throw CommandFault(
                        .failed, "not every push was accepted: \(String(decoding: account.bytes, as: UTF8.self))")
                }
                return Broadcast(time: took, used: try world.used() - before)
            }
            guard clock.now - start < Self.patience else {
                throw CommandFault(.failed, "the broadcast has not finished in ten minutes")
            }
            try await Task.sleep(for: Self.look)
        }
    }
}
