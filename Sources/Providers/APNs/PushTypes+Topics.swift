import Model

// A registration's topic is the app's bundle id, and we derive the suffix from the push type. Backends that knew APNs
// before tend to hand in the whole topic of a token: one that fits is understood, one that contradicts is refused.
extension APNsPushTypes {
    /// Bundle ids end in these two words as well ("com.example.voip"): they are a suffix only behind a name that has this
    /// many parts without them.
    private static let partsBeforeCommonWords = 3

    /// The bundle id behind a topic that was given for a token of this kind; nil: the topic is one of another kind's.
    package static func bundleID(ofTopic topic: String, kind: TokenKind) -> String? {
        guard let (bundleID, type) = splitSuffix(topic) else { return topic }
        let row = row(for: type)
        return row.tokenKind == kind || row.startTokenKind == kind ? bundleID : nil
    }

    /// The same for a credential, which serves tokens of all kinds.
    package static func bundleID(ofTopic topic: String) -> String { splitSuffix(topic)?.bundleID ?? topic }

    /// Whether the topic is one that a certificate may be for alone, beside another one for the app.
    package static func isOfOwnService(topic: String) -> Bool {
        splitSuffix(topic).map { $0.type.service != .app } ?? false
    }

    private static let suffixes = PushType.allCases.map { ($0, Array(row(for: $0).topicSuffix.utf8)) }
        .filter { !$0.1.isEmpty }

    private static func splitSuffix(_ topic: String) -> (bundleID: String, type: PushType)? {
        for (type, suffix) in suffixes {
            guard topic.utf8.count > suffix.count, topic.utf8.suffix(suffix.count).elementsEqual(suffix) else {
                continue
            }
            let bundleID = String(decoding: topic.utf8.dropLast(suffix.count), as: UTF8.self)
            let isCommonWord = type == .voip || type == .complication
            let parts = bundleID.utf8.count { $0 == UInt8(ascii: ".") } + 1
            if isCommonWord, parts < partsBeforeCommonWords { continue }
            return (bundleID, type)
        }
        return nil
    }
}
