import Content
import JSON
import ProviderInterface

/// The size that Google counts for one text of a message, bounded by `FCMLimits.payloadBytesMax`.
struct FCMMeasure: Equatable, Sendable {
    /// The size per platform, with the widest badge and nothing in the placeholders.
    private var fixedBytes = [0, 0, 0]
    /// The number of times that a placeholder's value counts, per platform.
    private var occurrences: [[PlaceholderText.Place: FCMWeights.Count]] = [[:], [:], [:]]  // lookup only

    /// - Parameter isTemplate: its texts may have marks of placeholders.
    init(_ message: JSONObject, isTemplate: Bool) {
        for (platform, part) in Self.parts.enumerated() {
            // A platform's own data replaces the common one.
            let data = part.data.flatMap { Self.value($0, in: message) } ?? message["data"]
            for value in [message["notification"], data] { add(value, to: platform, isTemplate) }
            add(Self.value(part.own, in: message), asJSON: part.isJSON, to: platform, isTemplate)
            guard let count = part.count, Self.value(count, in: message) == FCMMessageCompiler.standIn else { continue }
            fixedBytes[platform] += FCMLimits.badgeDigitsMax - FCMMessageCompiler.standIn.bytes.count
        }
    }

    private struct Part {
        let own: JSONPointer
        let data: JSONPointer?
        let count: JSONPointer?
        /// FCM hands the part on as JSON.
        var isJSON = false
    }

    /// The members that count on Android, Apple's devices and the web.
    private static let parts = [
        Part(
            own: .root / "android" / "notification", data: .root / "android" / "data",
            count: .root / "android" / "notification" / "notification_count"),
        Part(
            own: .root / "apns" / "payload", data: nil, count: .root / "apns" / "payload" / "aps" / "badge",
            isJSON: true),
        Part(own: .root / "webpush" / "notification", data: .root / "webpush" / "data", count: nil),
    ]

    private mutating func add(_ value: JSONValue?, asJSON: Bool = false, to platform: Int, _ isTemplate: Bool) {
        guard let value, !value.isNull else { return }
        let counted = asJSON ? value.bytes : Self.namesAndValues(value)
        guard isTemplate else {
            fixedBytes[platform] += counted.count
            return
        }
        let text = PlaceholderText(marked: counted)
        fixedBytes[platform] += text.fixedBytes
        for (place, count) in zip(text.places, text.occurrences) {
            var sum = occurrences[platform][place] ?? FCMWeights.Count()
            if asJSON { sum.asJSON += count } else { sum.asText += count }
            occurrences[platform][place] = sum
        }
    }

    /// The bytes of names and texts; any other value counts as its JSON. A control character could be mistaken for a
    /// mark, so a blank stands for it.
    private static func namesAndValues(_ value: JSONValue) -> [UInt8] {
        var bytes: [UInt8] = []
        for member in value.object?.members ?? [] {
            bytes += member.name.utf8
            bytes += member.value.string.map { $0.utf8.map { max($0, UInt8(ascii: " ")) } } ?? member.value.bytes
        }
        return bytes
    }

    /// nil: the message has no such member, or null.
    private static func value(_ path: JSONPointer, in message: JSONObject) -> JSONValue? {
        JSONValue.object(message).value(at: path).flatMap { $0.isNull ? nil : $0 }
    }

    /// The size for the platform with the most bytes, with nothing in the placeholders.
    var bytes: Int { fixedBytes.reduce(0, max) }

    func weights(of places: [PlaceholderText.Place]) -> [FCMWeights] {
        fixedBytes.indices.map { platform in
            FCMWeights(
                fixedBytes: fixedBytes[platform],
                counts: places.map { occurrences[platform][$0] ?? FCMWeights.Count() })
        }
    }
}

/// The size of a text on one platform, as a function of the values in its places.
struct FCMWeights: Equatable, Sendable {
    struct Count: Equatable, Sendable {
        var asText = 0
        var asJSON = 0
    }

    let fixedBytes: Int
    /// The number of times that each of the text's places counts.
    let counts: [Count]

    func bytes(_ pieces: [PieceLength]) -> Int {
        var bytes = fixedBytes
        for place in counts.indices {
            bytes += counts[place].asText * pieces[place].asText + counts[place].asJSON * pieces[place].asJSON
        }
        return bytes
    }
}
