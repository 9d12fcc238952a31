import Basis

/// The topics and priorities that each push type takes. Written anew and not shared with the gateway: a stand-in that
/// used the gateway's own table would agree with its mistakes.
/// Source: Apple, "Sending notification requests to APNs".
enum TopicRules {
    private static let suffixes = [
        "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider", "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt",
        "location": ".location-query", "widgets": ".push-type.widgets", "controls": ".push-type.controls",
    ]

    static func suffix(ofType type: String) -> String? { suffixes[type] }

    static func bundleID(ofTopic topic: String) -> String {
        // No suffix ends in another one.
        let suffix = suffixes.values.first { !$0.isEmpty && topic.hasSuffix($0) } ?? ""
        return String(topic.dropLast(suffix.count))
    }

    static func fits(topic: String, suffix: String) -> Bool {
        suffix.isEmpty ? bundleID(ofTopic: topic) == topic : topic.hasSuffix(suffix) && topic != suffix
    }

    /// - Parameter priority: the header's value; without one Apple takes 10.
    static func allows(priority: String?, type: String?) -> Bool {
        switch (priority ?? "10", type) {
        case (let priority, "background"): priority == "5"
        case ("5", _), ("10", _): true
        case ("1", let type): type != "liveactivity"
        default: false
        }
    }

    /// Whether the type needs a provider token; certificates are refused.
    static func needsProviderToken(type: String?) -> Bool { type == "location" }

    /// Whether a topic has only characters of bundle ids, pass type ids and the like: letters, digits, hyphens and full
    /// stops.
    static func isWellFormed(_ topic: String) -> Bool {
        topic.utf8.allSatisfy { $0.isLetter || $0.isDigit || "-.".utf8.contains($0) }
    }

    static func payloadBytesMax(type: String?) -> Int { type == "voip" ? 5_120 : 4_096 }
}
