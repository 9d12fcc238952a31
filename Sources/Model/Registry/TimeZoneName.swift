import Basis

/// The valid names of time zones: a name of IANA's list, current or old, or an offset as phones write it (`GMT+05:30`).
/// Capital and small letters are equal.
///
/// A phone may know a newer edition of the list. So an unknown place is accepted where IANA adds places, as in
/// `Europe/`. A device with a name that the database does not know uses the app's time zone.
package enum TimeZoneName {
    package static let bytesMax = 64
    /// The default of an app.
    package static let utc = "UTC"

    package enum Reading: Equatable, Sendable {
        case valid
        /// The name is none, or means something else. `meant`: the name that its writer may have meant.
        case invalid(meant: String?)
    }

    package static func read(_ text: String) -> Reading {
        guard text.utf8.count <= bytesMax else { return .invalid(meant: nil) }
        let name = text.lowercased()
        if known.contains(name) || isOffset(Array(name.utf8)) { return .valid }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        if let meant = parts.last.flatMap({ namesOfPlaces[letters($0)] }) { return .invalid(meant: meant) }
        guard parts.count > 1, growing.contains(String(parts[0])), parts.allSatisfy(isPlace) else {
            return .invalid(meant: nil)
        }
        return .valid
    }

    /// Whether the text is an offset such as `gmt+05:30`, of a clock that exists: 12 hours behind UTC to 14 ahead.
    private static func isOffset(_ name: [UInt8]) -> Bool {
        guard name.starts(with: "gmt".utf8) || name.starts(with: "utc".utf8), (8...9).contains(name.count),
            name.count == 8 || name[6] == UInt8(ascii: ":")
        else { return false }
        let digits = Array(name[4..<6] + name.suffix(2))
        guard digits.allSatisfy(\.isDigit) else { return false }
        let places = digits.map { Int($0 - UInt8(ascii: "0")) }
        let (hours, minutes) = (places[0] * 10 + places[1], places[2] * 10 + places[3])
        guard minutes < 60 else { return false }
        switch name[3] {
        case UInt8(ascii: "+"): return hours * 60 + minutes <= 14 * 60
        case UInt8(ascii: "-"): return hours * 60 + minutes <= 12 * 60
        default: return false
        }
    }

    private static func isPlace(_ part: Substring) -> Bool {
        guard let first = part.utf8.first, first.isLetter else { return false }
        return part.utf8.allSatisfy { $0.isLetter || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    private static func letters(_ part: Substring) -> String {
        String(decoding: part.utf8.filter(\.isLetter), as: UTF8.self)
    }
}

extension TimeZoneName {
    /// All names of IANA's list.
    package static let all: [String] =
        areas.flatMap { area in places(of: area.places).map { "\(area.name)/\($0)" } } + places(of: short)

    /// All names, in small letters.
    private static let known = Set(all.map { $0.lowercased() })  // lookup only

    /// The areas to which IANA adds places, in small letters.
    private static let growing = Set(areas.filter(\.mayGrow).map { $0.name.lowercased() })  // lookup only

    /// The names in these areas by the letters of their places: "Europe/Berlin" by "berlin".
    private static let namesOfPlaces: [String: String] = {  // lookup only
        var names: [String: String] = [:]  // lookup only
        for area in areas where area.mayGrow {
            for place in places(of: area.places) {
                guard let last = place.lowercased().split(separator: "/").last, names[letters(last)] == nil else {
                    continue
                }
                names[letters(last)] = "\(area.name)/\(place)"
            }
        }
        return names
    }()

    private static func places(of text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
