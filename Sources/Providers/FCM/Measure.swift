import Content
import JSON

/// How large one text of a message is to Google: what `FCMLimits.payloadBytesMax` bounds.
struct FCMMeasure: Equatable, Sendable {
    /// Of each platform, with the widest badge and nothing in the holes.
    private var fixedBytes = [0, 0, 0]
    /// How often what is filled in counts, by platform.
    private var occurrences: [[PlaceholderText.Place: Int]] = [[:], [:], [:]]  // lookup only

    /// - Parameters:
    ///   - message: with a stand-in for each badge.
    ///   - isTemplate: its texts may have marks of holes.
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

    /// A platform's own data stands for the common one, where it has any.
    private static func given(_ path: [String], in message: JSONObject) -> [String]? {
        value(path, in: message).flatMap { $0.isNull ? nil : path }
    }

    /// What the platform gets that gets the most, with nothing in the holes.
    var bytes: Int { fixedBytes.reduce(0, max) }

    /// By platform, how often each of the places counts.
    func weights(of places: [PlaceholderText.Place]) -> [FCMWeights] {
        fixedBytes.indices.map { platform in
            FCMWeights(fixedBytes: fixedBytes[platform], counts: places.map { occurrences[platform][$0] ?? 0 })
        }
    }
}

/// What one platform gets of a text, by what fills its places.
struct FCMWeights: Equatable, Sendable {
    let fixedBytes: Int
    /// How often each of the text's places counts.
    let counts: [Int]

    func bytes(_ pieceBytes: [Int]) -> Int {
        var bytes = fixedBytes
        for place in counts.indices { bytes += counts[place] * pieceBytes[place] }
        return bytes
    }
}
