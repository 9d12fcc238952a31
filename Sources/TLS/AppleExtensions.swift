/// What Apple writes into provider certificates beside the subject.
///
/// Source: apns.md section 3.1.
package struct AppleExtensions: Equatable, Sendable {
    package enum OID {
        package static let development = "1.2.840.113635.100.6.3.1"
        package static let production = "1.2.840.113635.100.6.3.2"
        package static let topics = "1.2.840.113635.100.6.3.6"
    }

    /// Usable with the sandbox.
    package var isDevelopment: Bool
    package var isProduction: Bool
    /// The complete set of usable topics; nil where the certificate has no list (then its UID is the only one).
    package var topics: [String]?

    package init(isDevelopment: Bool = true, isProduction: Bool = true, topics: [String]? = nil) {
        self.isDevelopment = isDevelopment
        self.isProduction = isProduction
        self.topics = topics
    }

    /// The list's bytes: pairs of a topic and its services. Any service word is accepted; nil where it is no such list.
    static func topics(in value: [UInt8]) -> [String]? {
        var outer = DERReader(value[...])
        guard let list = outer.next(DERReader.Tag.sequence), outer.isAtEnd else { return nil }
        var reader = DERReader(list)
        var topics: [String] = []
        while !reader.isAtEnd {
            guard let topic = reader.next(DERReader.Tag.utf8String), reader.next(DERReader.Tag.sequence) != nil,
                let text = String(validating: topic, as: UTF8.self)
            else { return nil }
            topics.append(text)
        }
        return topics
    }

    /// The extensions as they stand in a certificate: OID and DER value.
    var encoded: [(oid: String, value: [UInt8])] {
        let null: [UInt8] = [DERReader.Tag.null, 0]
        var encoded: [(oid: String, value: [UInt8])] = []
        if isDevelopment { encoded.append((OID.development, null)) }
        if isProduction { encoded.append((OID.production, null)) }
        if let topics {
            let pairs = topics.flatMap { topic in
                DERWriter.utf8String(topic)
                    + DERWriter.element(DERReader.Tag.sequence, DERWriter.utf8String(Self.service(of: topic)))
            }
            encoded.append((OID.topics, DERWriter.element(DERReader.Tag.sequence, pairs)))
        }
        return encoded
    }

    private static func service(of topic: String) -> String {
        if topic.hasSuffix(".voip") { return "voip" }
        if topic.hasSuffix(".complication") { return "complication" }
        return "app"
    }
}
