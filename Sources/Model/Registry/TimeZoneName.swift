/// What a time zone may be called: a name of the IANA's list, or an offset as phones write it (`GMT+05:30`).
///
/// Which names there are changes with every edition of that list, and a phone may have a newer one than the gateway's
/// database: by its shape alone a name is taken or refused, and who has a name that nobody here knows goes by the app's.
package enum TimeZoneName {
    package static let bytesMax = 64
    /// Where an app says nothing.
    package static let utc = "UTC"

    /// Parts of letters, digits and `_ + - :`, joined by `/`, each beginning with a letter.
    package static func isPossible(_ text: String) -> Bool {
        guard (1...bytesMax).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.first, isLetter(first) else { return false }
            return part.allSatisfy(isAllowed)
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: ":"):
            true
        default: isLetter(byte)
        }
    }
}
