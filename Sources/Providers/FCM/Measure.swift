import Content
import JSON

/// The size that Google counts for one text of a message, bounded by `FCMLimits.payloadBytesMax`.
struct FCMMeasure: Equatable, Sendable {
    /// The size per platform, with the widest badge and nothing in the placeholders.
    private var fixedBytes = [0, 0, 0]
    /// The number of times that a placeholder's value counts, per platform.
    private var occurrences: [[PlaceholderText.Place: Int]] = [[:], [:], [:]]  // lookup only

    /// - Parameter isTemplate: its texts may have marks of placeholders.
    init(_ message: JSONObject, isTemplate: Bool) {
        for (platform, part) in Self.parts.enumerated() {
            // A platform's own data replaces the common one.
            let data = part.data.flatMap { Self.value($0, in: message) } ?? message["data"]
            for value in [message["notification"], Self.value(part.own, in: message), data] {
                add(value, to: platform, isTemplate)
            }
            guard let count = part.count, Self.value(count, in: message) == FCMMessageCompiler.standIn else { continue }
            fixedBytes[platform] += FCMLimits.badgeDigitsMax - FCMMessageCompiler.standIn.bytes.count
        }
    }

    private struct Part {
        let own: JSONPointer
        let data: JSONPointer?
        let count: JSONPointer?
    }

    /// The members that count on Android, Apple's devices and the web.
    private static let parts = [
        Part(
            own: .root / "android" / "notification", data: .root / "android" / "data",
            count: .root / "android" / "notification" / "notification_count"),
        Part(own: .root / "apns" / "payload", data: nil, count: .root / "apns" / "payload" / "aps" / "badge"),
        Part(own: .root / "webpush" / "notification", data: .root / "webpush" / "data", count: nil),
    ]

    private mutating func add(_ value: JSONValue?, to platform: Int, _ isTemplate: Bool) {
        guard let value, !value.isNull else { return }
        guard isTemplate else {
            fixedBytes[platform] += value.bytes.count
            return
        }
        let text = PlaceholderText(marked: value.bytes)
        fixedBytes[platform] += text.fixedBytes
        for (place, count) in zip(text.places, text.occurrences) { occurrences[platform][place, default: 0] += count }
    }

    /// nil: the message has no such member, or null.
    private static func value(_ path: JSONPointer, in message: JSONObject) -> JSONValue? {
        JSONValue.object(message).value(at: path).flatMap { $0.isNull ? nil : $0 }
    }

    /// The size for the platform with the most bytes, with nothing in the placeholders.
    var bytes: Int { fixedBytes.reduce(0, max) }

    func weights(of places: [PlaceholderText.Place]) -> [FCMWeights] {
        fixedBytes.indices.map { platform in
            FCMWeights(fixedBytes: fixedBytes[platform], counts: places.map { occurrences[platform][$0] ?? 0 })
        }
    }
}

/// The size of a text on one platform, as a function of the values in its places.
struct FCMWeights: Equatable, Sendable {
    let fixedBytes: Int
    /// The number of times that each of the text's places counts.
    let counts: [Int]

    func bytes(_ pieceBytes: [Int]) -> Int {
        var bytes = fixedBytes
        for place in counts.indices { bytes += counts[place] * pieceBytes[place] }
        return bytes
    }
}
