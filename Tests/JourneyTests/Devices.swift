import Encodings
import Model

/// A registration of a test; its token decides the stand-in's answer.
struct Device: Sendable {
    let installation: String
    /// The token in hexadecimal.
    let token: String
    /// The badge in the registry before any push.
    var badge = 0

    var deviceToken: DeviceToken { DeviceToken(bytes: Hexadecimal.decode(token.utf8) ?? []) }

    /// A line of an import, or the body of a registration.
    func registration(named: Bool = true, environment: String = "production") -> String {
        let name = named ? #""installation": "\#(installation)", "# : ""
        let count = badge > 0 ? #", "badge": \#(badge)"# : ""
        return #"{\#(name)"provider": "apns", "environment": "\#(environment)", "token": "\#(token)"\#(count)}"#
    }
}

/// The stand-in's answer to a kind of tokens: the beginning of their hexadecimal form (docs/simulator.md).
enum Fate: String, Sendable {
    case live = "a11e0000"
    case gone = "dead0100"
    case unregisteredLongAgo = "dead0200"
    case bad = "dead0400"
    case forbidden = "dead0e00"
    /// A token of the sandbox, which production rejects.
    case sandboxOnly = "dead3100"
    case internalErrorOnce = "dead0701"
    case unavailableOnce = "dead0801"
    case shutdownOnce = "dead0901"
    case resetOnce = "dead2001"
    case refusedStreamOnce = "dead2101"
}

extension [Device] {
    /// - Parameter family: keeps the tokens and names of several apps apart.
    init(_ fate: Fate, _ count: Int, family: Int = 0) {
        self = (0..<count).map { number in
            let digits = String(family * 10_000_000 + number, radix: 16)
            let zeros = String(repeating: "0", count: 64 - fate.rawValue.utf8.count - digits.utf8.count)
            return Device(installation: "\(fate)-\(family)-\(number)", token: fate.rawValue + zeros + digits)
        }
    }
}
