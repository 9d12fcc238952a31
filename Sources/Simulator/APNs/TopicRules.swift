/// The topics and priorities that each push type takes. Written anew and not shared with the gateway: a stand-in that
/// used the gateway's own table would agree with its mistakes.
/// Source: Apple, "Sending notification requests to APNs".
enum TopicRules {
    static func suffix(ofType type: String) -> String? {
        switch type {
        case "alert", "background", "mdm": ""
        case "voip": ".voip"
        case "complication": ".complication"
        case "fileprovider": ".pushkit.fileprovider"
        case "liveactivity": ".push-type.liveactivity"
        case "pushtotalk": ".voip-ptt"
        case "location": ".location-query"
        case "widgets": ".push-type.widgets"
        case "controls": ".push-type.controls"
        default: nil
        }
    }

    private static let suffixes = [
        ".voip", ".complication", ".pushkit.fileprovider", ".push-type.liveactivity", ".voip-ptt", ".location-query",
        ".push-type.widgets", ".push-type.controls",
    ]

    static func bundleID(ofTopic topic: String) -> String {
        for suffix in suffixes where topic.hasSuffix(suffix) { return String(topic.dropLast(suffix.count)) }
        return topic
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
        topic.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    static func payloadBytesMax(type: String?) -> Int { type == "voip" ? 5_120 : 4_096 }
}
