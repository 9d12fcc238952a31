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
        if (try? await world.client.get(last)) != nil { return }
        let file = world.folder.file("devices.ndjson")
        guard FileManager.default.createFile(atPath: file, contents: nil), let out = FileHandle(forWritingAtPath: file)
        else { throw CommandFault(.failed, "\(file) can't be written") }
        for start in stride(from: 1, through: devices, by: 10_000) {
            let lines = (start...min(devices, start + 9_999)).map {
                #"{"installation":"phone-\#($0)","provider":"apns","topic":"\#(OwnStandIns.topic)","#
                    + #""token":"\#(Self.token($0))"}"# + "\n"
            }
            try out.write(contentsOf: Data(lines.joined().utf8))
        }
        try out.close()
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw CommandFault(.failed, "\(file) can't be read")
        }
        var progress = Progress("import")
        var end = JSONValue.null
        try await world.client.stream(BenchWorld.app + "/devices/import", file: handle) { line in
            end = line
            progress.show(line.object?["line"]?.integer ?? 0, of: Int64(devices), "registered")
        }
        progress.end()
        guard end.object?["done"]?.bool == true, end.count("refused") == 0 else {
            throw CommandFault(.failed, "the import ended: \(String(decoding: end.bytes, as: UTF8.self))")
        }
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
        let accepted = try await world.client.send("POST", BenchWorld.app + "/messages", message)
        let clock = ContinuousClock()
        let start = clock.now
        let path = BenchWorld.app + "/messages/" + accepted.shown("id")
        while true {
            let account = try await world.client.get(path)
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
