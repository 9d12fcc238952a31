import Basis
import JSON
import ProviderInterface

/// `{"reason":"Unregistered","timestamp":1700000000000}`.
///
/// A stranger's bytes: bounded, and a syntax error leaves everything empty. Unknown members are ignored.
struct APNsErrorBody: Equatable {
    /// nil: it is missing or empty.
    private(set) var reason: String?
    private(set) var timestamp = Timestamp.none

    enum Timestamp: Equatable {
        case none
        case at(WallInstant)
        /// The member exists, but is no time.
        case unreadable
    }

    /// A documented error body has about 60 bytes. A longer one than this is not read at all.
    private static let limits = JSONLimits(bytesMax: 1_024, depthMax: 16)
    /// Currently a time has 13 digits. Fifteen reach the year 33658, and don't overflow as microseconds.
    private static let millisecondsMax: Int64 = 999_999_999_999_999

    init(reading body: Span<UInt8>) {
        guard !body.isEmpty, body.count <= Self.limits.bytesMax,
            let members = (try? JSONReader.read(body.copied(), limits: Self.limits))?.object
        else { return }
        if let text = members["reason"]?.string, !text.isEmpty { reason = text }
        if let time = members["timestamp"] { timestamp = Self.timestamp(time) }
    }

    /// A time before 1970 counts as 1970, which is also before any registration.
    private static func timestamp(_ value: JSONValue) -> Timestamp {
        guard let time = value.integer, (-millisecondsMax...millisecondsMax).contains(time) else { return .unreadable }
        return .at(WallInstant(microseconds: max(time, 0) * 1_000))
    }
}
