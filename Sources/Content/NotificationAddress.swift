import Model

/// The rules for the web addresses in a notification.
///
/// A picture is fetched by the device or by the provider, which both insist on TLS. A link is opened by the app, which
/// may have a scheme of its own. An address that begins with a placeholder is the device's own value, and not examined.
package enum NotificationAddress {
    /// Longer addresses are cut off by browsers and proxies on their way.
    package static let bytesMax = 2_048

    /// Says what is wrong with a part that is an address; nil: nothing, or the part is a text.
    package static func fault(of text: String, as part: NotificationPart) -> String? {
        guard part.isAddress else { return nil }
        guard text.utf8.count <= bytesMax else { return "An address has at most \(bytesMax) bytes; use a shorter one." }
        // Placeholders may have spaces: {{ attributes.id }}.
        let bare = TemplateText.isOne(text) ? (try? TemplateText(parsing: text)).map(literals) ?? text : text
        guard bare.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f && !$0.properties.isWhitespace })
        else { return "An address has no spaces or line breaks. Escape a space as %20." }
        guard !text.hasPrefix("{{") else { return nil }
        switch part {
        case .image:
            let host = text.dropFirst(secure.count).prefix { !"/?#".contains($0) }
            guard text.lowercased().hasPrefix(secure), !host.isEmpty else {
                return "An image is an address such as https://cdn.example.com/noon.png."
            }
        case .link:
            guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]),
                text.index(after: colon) < text.endIndex
            else { return "A link is an address such as https://example.com/noon or myapp://noon." }
        case .title, .subtitle, .body: break
        }
        return nil
    }

    private static let secure = "https://"

    private static func literals(_ template: TemplateText) -> String {
        template.parts.map { if case .literal(let text) = $0 { text } else { "" } }.joined()
    }

    /// Source: RFC 3986, section 3.1.
    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }
}

/// The names of a notification's addresses in the data that an app gets. No sender may use them.
package enum DataName {
    package static let image = "carillon_image"
    package static let link = "carillon_link"

    /// The addresses of a text, by these names.
    package static func addresses(of text: NotificationText?) -> [(name: String, address: String)] {
        [(image, text?.image), (link, text?.link)].compactMap { name, address in address.map { (name, $0) } }
    }
}
