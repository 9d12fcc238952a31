import Foundation
import JSON

/// A virtual phone of the demonstration of stocks. Each run has tokens of its own, so that nothing arrives that an
/// earlier run left behind.
struct StockPhone {
    let name: String
    private let isApple: Bool
    private let token: String
    /// The pushes that were reported.
    private(set) var pushes: [StockPush] = []

    private init(_ name: String, isApple: Bool) {
        (self.name, self.isApple) = (name, isApple)
        let run = UUID().uuidString.lowercased()
        guard isApple else {
            token = "stocks-\(run):APA91b" + String(repeating: "q", count: 40)
            return
        }
        let digits = run.filter { $0 != "-" }
        // The first digits of a token choose its fate at the stand-in, and these choose none.
        token = "a11e\(digits)\(digits.prefix(28))"
    }

    static func iPhone(_ name: String) -> StockPhone { StockPhone(name, isApple: true) }
    static func android(_ name: String) -> StockPhone { StockPhone(name, isApple: false) }

    var kind: String { isApple ? "an iPhone" : "an Android phone" }
    private var provider: JSONValue { isApple ? "apns" : "fcm" }

    var registration: JSONValue {
        isApple
            ? ["provider": provider, "token": .string(token), "topic": .string(OwnStandIns.topic)]
            : ["provider": provider, "token": .string(token)]
    }

    /// Takes what has arrived since the last time, and returns it.
    mutating func receive(from standIns: OwnStandIns) async throws -> [StockPush] {
        let arrived = try await standIns.pushes(to: token, at: isApple ? standIns.production : standIns.fcm)
            .filter { $0.count("status") == 200 }
            .map { StockPush(payload: $0.object?["payload"] ?? .null) }
        let newer = Array(arrived.dropFirst(pushes.count))
        pushes += newer
        return newer
    }

    var json: JSONValue {
        ["phone": .string(name), "provider": provider, "pushes": .array(pushes.map(\.json))]
    }
}
