import Basis

/// The valid names of time zones: a name of the IANA's list, or an offset as phones write it (`GMT+05:30`).
///
/// The names change with every edition of that list, and a phone may have a newer edition than the gateway's database.
/// So only the shape of a name is checked. A device with a name unknown here uses the app's time zone.
package enum TimeZoneName {
    package static let bytesMax = 64
    /// The default of an app.
    package static let utc = "UTC"

    /// Accepts parts of letters, digits and `_ + - :`, joined by `/`, each beginning with a letter.
    package static func isPossible(_ text: String) -> Bool {
        guard (1...bytesMax).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.first, first.isLetter else { return false }
            return part.allSatisfy { $0.isLetter || $0.isDigit || "_+-:".utf8.contains($0) }
        }
    }
}
