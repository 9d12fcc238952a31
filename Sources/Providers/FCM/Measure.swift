import Content
import JSON

/// The size that Google counts for one text of a message, bounded by `FCMLimits.payloadBytesMax`.
struct FCMMeasure: Equatable, Sendable {
    /// The size per platform, with the widest badge and nothing in the placeholders.
    private var fixedBytes = [0, 0, 0]
    /// The number of times that a placeholder's value counts, per platform.
    private var occurrences: [[PlaceholderText.Place: Int]] = [[:], [:], [:]]  // lookup only

    /// - Parameters:
    ///   - message: the message, with a stand-in for each badge.
    ///   - isTemplate: its texts may have marks of placeholders.
    init(_ message: JSONObject, isTemplate: Bool) {
        let notification = ["notification"]
        let shared = ["data"]
        let parts: [(own: [[String]], count: [String])] = [
            (
                [["android", "notification"], Self.given(["android", "data"], in: message) ?? shared],
                ["android", "notification", "notification_count"]
            ),
            ([["apns", "payload"], shared], ["apns", "payload", "aps", "badge"]),
            ([["webpush", "notification"], Self.given(["webpush", "data"], in: message) ?? shared], []),
        ]
        for (platform, part) in parts.enumerated() {
            for path in [notification] + part.own { add(path, of: message, to: platform, isTemplate) }
            guard !part.count.isEmpty, Self.value(part.count, in: message) == FCMMessageCompiler.standIn else {
                continue
            }
            fixedBytes[platform] += FCMLimits.badgeDigitsMax - FCMMessageCompiler.standIn.bytes.count
        }
    }

    private mutating func add(_ path: [String], of message: JSONObject, to platform: Int, _ isTemplate: Bool) {
        guard let value = Self.value(path, in: message), !value.isNull else { return }
        guard isTemplate else {
            fixedBytes[platform] += value.bytes.count
            return
        }
        let text = PlaceholderText(marked: value.bytes)
        fixedBytes[platform] += text.fixedBytes
        for (place, count) in zip(text.places, text.occurrences) { occurrences[platform][place, default: 0] += count }
    }

    private static func value(_ path: [String], in message: JSONObject) -> JSONValue? {
        JSONValue.object(message).value(at: JSONPointer(tokens: path))
    }

    /// Returns the path if the message has it: a platform's own data replaces the common one.
    private static func given(_ path: [String], in message: JSONObject) -> [String]? {
        value(path, in: message).flatMap { $0.isNull ? nil : path }
    }

    /// The size for the platform with the most bytes, with nothing in the placeholders.
    var bytes: Int { fixedBytes.reduce(0, max) }

    /// Returns how often each of the places counts, per platform.
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
