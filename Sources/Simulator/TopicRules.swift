/// Which topic and priority each push type takes. Written down here anew, not shared with the gateway: a stand-in that
/// used the gateway's own table would agree with its mistakes.
///
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

    /// The bundle id behind a topic.
    static func bundleID(ofTopic topic: String) -> String {
        for suffix in suffixes where topic.hasSuffix(suffix) { return String(topic.dropLast(suffix.count)) }
        return topic
    }

    /// Whether a topic belongs to a push type.
    static func fits(topic: String, suffix: String) -> Bool {
        suffix.isEmpty ? bundleID(ofTopic: topic) == topic : topic.hasSuffix(suffix) && topic != suffix
    }

    static func allows(priority: Int, type: String?) -> Bool {
        switch type {
        case "background": priority != 10
        case "liveactivity": priority != 1
        default: true
        }
    }

    static func payloadBytesMax(type: String?) -> Int { type == "voip" ? 5_120 : 4_096 }
}
