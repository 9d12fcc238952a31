import Basis
import Model

/// The rules for the web addresses in a notification.
///
/// A picture is fetched by the device or by the provider, which both insist on TLS. A link is opened by the app, which
/// may have a scheme of its own. Placeholders stand behind scheme and host, and their values are percent-encoded. So an
/// address is one for every device, whatever its values are.
package enum NotificationAddress {
    /// Longer addresses are cut off by browsers and proxies on their way.
    package static let bytesMax = 2_048

    /// Says what is wrong with a part that is an address; nil: nothing, or the part is a text.
    package static func fault(of text: String, as part: NotificationPart) -> String? {
        guard part.isAddress else { return nil }
        guard text.utf8.count <= bytesMax else { return "An address has at most \(bytesMax) bytes; use a shorter one." }
        let template: TemplateText?
        // A text that cannot be parsed is refused as such, with the place of the error.
        do throws(TemplateFault) {
            template = TemplateText.isOne(text) ? try TemplateText(parsing: text) : nil
        } catch { return nil }
        // Placeholders may have spaces: {{ attributes.id }}.
        let bare = template.map(literals) ?? text
        guard bare.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7f && !$0.properties.isWhitespace })
        else { return "An address has no spaces or line breaks. Escape a space as %20." }
        let isFilled = template?.parts.contains { if case .placeholder = $0 { true } else { false } } ?? false
        if isFilled, let template, !hasFixedHost(template) {
            return "A placeholder may stand only behind the scheme and the host of an address, as in "
                + "https://cdn.example.com/{{attributes.picture}}.png."
        }
        switch part {
        case .image:
            let host = bare.dropFirst(secure.count).prefix { !endsOfHost.contains($0) }
            guard bare.lowercased().hasPrefix(secure), !host.isEmpty else {
                return "An image is an address such as https://cdn.example.com/noon.png."
            }
        case .link:
            guard let colon = bare.firstIndex(of: ":"), isScheme(bare[..<colon]),
                isFilled || bare.index(after: colon) < bare.endIndex
            else { return "A link is an address such as https://example.com/noon or myapp://noon." }
        case .title, .subtitle, .body: break
        }
        return nil
    }

    private static let secure = "https://"
    private static let endsOfHost = "/?#"

    /// Whether scheme and host are complete before the first placeholder. An address such as `tel:` has no host.
    private static func hasFixedHost(_ template: TemplateText) -> Bool {
        guard case .literal(let start) = template.parts.first, let colon = start.firstIndex(of: ":") else {
            return false
        }
        let place = start[start.index(after: colon)...]
        return !place.hasPrefix("//") || place.dropFirst(2).contains { endsOfHost.contains($0) }
    }

    private static func literals(_ template: TemplateText) -> String {
        template.parts.map { if case .literal(let text) = $0 { text } else { "" } }.joined()
    }

    /// Appends a value as one part of a path or of a query.
    ///
    /// Source: RFC 3986, sections 2.1 and 2.3.
    package static func append(encoding value: Span<UInt8>, to bytes: inout [UInt8]) {
        for index in value.indices {
            let byte = value[index]
            if byte.isLetter || byte.isDigit || "-._~".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexDigits[Int(byte >> 4)])
                bytes.append(hexDigits[Int(byte & 0xf)])
            }
        }
    }

    package static func encoded(_ value: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        append(encoding: value.span, to: &encoded)
        return encoded
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)

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
    package static let all = [image, link]

    /// The addresses of a text, by these names.
    package static func addresses(of text: NotificationText?) -> [(name: String, address: String)] {
        [(image, text?.image), (link, text?.link)].compactMap { name, address in address.map { (name, $0) } }
    }
}
