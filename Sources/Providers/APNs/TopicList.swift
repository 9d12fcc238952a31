/// The topic list in a provider certificate: extension 1.2.840.113635.100.6.3.6 (and .4 for VoIP).
///
/// One SEQUENCE of pairs: `UTF8String topic`, `SEQUENCE { UTF8String service, … }`. Any service name is accepted.
/// Source: the structure as pushy's fixtures and other parsers have it; Apple does not document it.
package enum APNsTopicList {
    /// Apple's certificates have a handful; this bounds malicious bytes.
    private static let topicsMax = 1_000

    /// Returns the topics; nil for anything other than that structure.
    package static func parse(der: [UInt8]) -> [String]? {
        var outer = DERReader(der[...])
        guard var list = outer.contents(of: .sequence), outer.isAtEnd else { return nil }
        var topics: [String] = []
        while !list.isAtEnd {
            guard topics.count < topicsMax, let name = list.text(), var inner = list.contents(of: .sequence) else {
                return nil
            }
            while !inner.isAtEnd {
                guard inner.text() != nil else { return nil }
            }
            topics.append(name)
        }
        return topics
    }

    /// Returns the topics that a certificate may send to. A list is complete: the subject's UID is never added to it.
    package static func usableTopics(list: [String]?, subjectUID: String?) -> [String] {
        guard let list, !list.isEmpty else { return subjectUID.map { [$0] } ?? [] }
        return list
    }

    /// Returns the topics from the extension's bytes in a certificate. nil: the extension is malformed, and falling
    /// back to the UID would be a guess.
    package static func usableTopics(extension der: [UInt8]?, subjectUID: String?) -> [String]? {
        guard let der else { return usableTopics(list: nil, subjectUID: subjectUID) }
        return parse(der: der).map { usableTopics(list: $0, subjectUID: subjectUID) }
    }

    /// Returns the apps that a certificate serves, without the push types' suffixes, each once, in the list's order.
    package static func bundleIDs(usable topics: [String]) -> [String] {
        var found: [String] = []
        for topic in topics {
            let bundleID = APNsPushTypes.bundleID(ofTopic: topic)
            if !found.contains(bundleID) { found.append(bundleID) }
        }
        return found
    }
}

/// A DER reader for definite lengths and low tags only.
private struct DERReader {
    enum Tag: UInt8 {
        case utf8String = 0x0c
        case printableString = 0x13
        case ia5String = 0x16
        case sequence = 0x30
    }

    private var remaining: ArraySlice<UInt8>
    var isAtEnd: Bool { remaining.isEmpty }

    init(_ bytes: ArraySlice<UInt8>) { remaining = bytes }

    mutating func contents(of tag: Tag) -> DERReader? {
        guard remaining.first == tag.rawValue else { return nil }
        remaining = remaining.dropFirst()
        guard let length = length(), length <= remaining.count else { return nil }
        let contents = remaining.prefix(length)
        remaining = remaining.dropFirst(length)
        return DERReader(contents)
    }

    mutating func text() -> String? {
        for tag in [Tag.utf8String, .printableString, .ia5String] {
            if let contents = contents(of: tag) { return String(validating: contents.remaining, as: UTF8.self) }
        }
        return nil
    }

    private mutating func length() -> Int? {
        guard let first = remaining.popFirst() else { return nil }
        if first < 0x80 { return Int(first) }
        let count = Int(first & 0x7f)
        guard (1...3).contains(count), remaining.count >= count else { return nil }
        var length = 0
        for _ in 0..<count { length = length << 8 | Int(remaining.removeFirst()) }
        return length
    }
}
