import Basis

/// The valid names of time zones: a name of IANA's list, current or old, or an offset as phones write it (`GMT+05:30`,
/// `GMT+3`, `UTC-0330`). Capital and small letters are equal.
///
/// An offset is kept in one form, `GMT+05:30`, which the database reads as people do: the clock is ahead of Greenwich.
/// In `Etc/GMT+3` of IANA's list, and in short forms by POSIX, the sign means the opposite.
///
/// A phone may know a newer edition of the list. So an unknown place is accepted where IANA adds places, as in
/// `Europe/`. A device with a name that the database does not know uses the app's time zone.
package enum TimeZoneName {
    package static let bytesMax = 64
    /// The default of an app.
    package static let utc = "UTC"

    package enum Reading: Equatable, Sendable {
        /// `name`: the name to keep.
        case valid(_ name: String)
        /// The name is none, or means something else. `meant`: the name that its writer may have meant.
        case invalid(meant: String?)
    }

    package static func read(_ text: String) -> Reading {
        guard text.utf8.count <= bytesMax else { return .invalid(meant: nil) }
        let name = text.lowercased()
        if known.contains(name) { return .valid(text) }
        if let offset = offset(of: name) { return .valid(offset) }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        if let meant = parts.last.flatMap({ namesOfPlaces[letters($0)] }) { return .invalid(meant: meant) }
        guard parts.count > 1, growing.contains(String(parts[0])), parts.allSatisfy(isPlace) else {
            return .invalid(meant: nil)
        }
        return .valid(text)
    }

    /// Returns the usual form of an offset such as `gmt+5:30`, of a clock that exists: 12 hours behind UTC to 14 ahead.
    /// The hour has one digit or two. Some languages write a minus sign instead of a hyphen.
    private static func offset(of name: String) -> String? {
        guard name.hasPrefix("gmt") || name.hasPrefix("utc"), let sign = name.dropFirst(3).first else { return nil }
        let clock = name.dropFirst(4).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let digits = clock.joined(separator: "")
        guard digits.utf8.allSatisfy(\.isDigit), let number = Int(digits) else { return nil }
        let (hours, minutes): (Int, Int)
        switch (clock.count, clock[0].count, digits.count) {
        case (1, 1...2, _): (hours, minutes) = (number, 0)
        case (1, 3...4, _), (2, 1, 3), (2, 2, 4): (hours, minutes) = (number / 100, number % 100)
        default: return nil
        }
        let isAhead = sign == "+"
        guard isAhead || sign == "-" || sign == "\u{2212}", minutes < 60,
            hours * 60 + minutes <= (isAhead ? 14 : 12) * 60
        else { return nil }
        return "GMT\(isAhead ? "+" : "-")" + twoDigits(hours) + ":" + twoDigits(minutes)
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

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
