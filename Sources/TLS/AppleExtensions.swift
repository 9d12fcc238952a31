import Signing

/// The extensions that Apple adds to provider certificates, for an authority that imitates Apple's.
/// Source: docs/promises.md, "Apple's certificates".
package struct AppleExtensions: Equatable, Sendable {
    package enum OID {
        package static let development = "1.2.840.113635.100.6.3.1"
        package static let production = "1.2.840.113635.100.6.3.2"
        package static let topics = "1.2.840.113635.100.6.3.6"
    }

    /// Whether the certificate works with the sandbox.
    package var isDevelopment: Bool
    package var isProduction: Bool
    /// The list of topics; nil for a certificate without one.
    package var topics: [String]?

    package init(isDevelopment: Bool = true, isProduction: Bool = true, topics: [String]? = nil) {
        (self.isDevelopment, self.isProduction, self.topics) = (isDevelopment, isProduction, topics)
    }

    /// The extensions as they appear in a certificate: OID and DER value.
    var encoded: [(oid: String, value: [UInt8])] {
        let null: [UInt8] = [DERTag.null, 0]
        var encoded: [(oid: String, value: [UInt8])] = []
        if isDevelopment { encoded.append((OID.development, null)) }
        if isProduction { encoded.append((OID.production, null)) }
        if let topics {
            let pairs = topics.flatMap { topic in
                DERWriter.utf8String(topic)
                    + DERWriter.element(DERTag.sequence, DERWriter.utf8String(Self.service(of: topic)))
            }
            encoded.append((OID.topics, DERWriter.element(DERTag.sequence, pairs)))
        }
        return encoded
    }

    private static func service(of topic: String) -> String {
        if topic.hasSuffix(".voip") { return "voip" }
        if topic.hasSuffix(".complication") { return "complication" }
        return "app"
    }
}
