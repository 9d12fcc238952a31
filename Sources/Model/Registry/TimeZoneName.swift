import Basis

/// The valid names of time zones: a name of the IANA's list, or an offset as phones write it (`GMT+05:30`).
///
/// Only the shape is checked: a phone may know a newer edition of the list than the gateway's database. A device with a
/// name unknown here uses the app's time zone.
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
