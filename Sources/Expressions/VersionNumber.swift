import Basis

/// Numbers separated by points, compared from the left: 4.10 comes after 4.9, and 4.2 equals 4.2.0.
package struct VersionNumber: Equatable, Sendable {
    /// Digits without leading zeros, one or more; only the first part may be a final "0".
    package let parts: [String]

    /// Parses the beginning of a text, and ignores the rest, as in "4.2-beta". nil: it begins with no number.
    package init?(leading text: String) {
        var parts: [String] = []
        var remaining = text.utf8[...]
        while true {
            let digits = remaining.prefix(while: \.isDigit)
            guard !digits.isEmpty else { break }
            let significant = digits.drop { $0 == UInt8(ascii: "0") }
            parts.append(significant.isEmpty ? "0" : String(Substring(significant)))
            remaining = remaining[digits.endIndex...]
            guard remaining.first == UInt8(ascii: ".") else { break }
            remaining.removeFirst()
        }
        guard !parts.isEmpty else { return nil }
        while parts.count > 1, parts.last == "0" { parts.removeLast() }
        self.parts = parts
    }

    /// nil: the text is not only numbers separated by points.
    package init?(_ text: String) {
        let isWhole = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isDigit) }
        guard isWhole else { return nil }
        self.init(leading: text)
    }

    package var text: String { parts.joined(separator: ".") }
}
