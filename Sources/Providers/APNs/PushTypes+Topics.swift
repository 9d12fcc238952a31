import Model

// A registration's topic is the app's bundle id; the push type adds the suffix. Backends that knew APNs before tend to
// send the whole topic of a token. One that fits the kind is accepted, one that contradicts it is refused.
extension APNsPushTypes {
    /// Bundle ids may end in `.voip` or `.complication` too ("com.example.voip"). These count as a suffix only after a
    /// name with this many parts.
    private static let partsBeforeCommonWords = 3

    /// Returns the bundle id of a topic given for a token of this kind; nil: the topic belongs to another kind.
    package static func bundleID(ofTopic topic: String, kind: TokenKind) -> String? {
        guard let (bundleID, type) = splitSuffix(topic) else { return topic }
        let row = row(for: type)
        return row.tokenKind == kind || row.startTokenKind == kind ? bundleID : nil
    }

    /// Returns the bundle id of a credential's topic: a credential serves tokens of all kinds.
    package static func bundleID(ofTopic topic: String) -> String { splitSuffix(topic)?.bundleID ?? topic }

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
