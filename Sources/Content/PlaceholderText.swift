/// Marks in a message's texts, where something of each device's own goes.
///
/// Two of Unicode's noncharacters each. Those stand for nothing and belong to no text that people exchange; and no step
/// from a content to its JSON takes offence at them or writes them in another way, so that a mark comes out where its
/// text does.
package enum PlaceholderMark {
    /// How many different ones there are.
    package static let placeholdersMax = digits * digits
    private static let digits = 32
    private static let firstDigit: UInt32 = 0xfdd0
    private static let nestedSign: Unicode.Scalar = "\u{fffe}"

    package static func text(_ placeholder: Int) -> String {
        precondition((0..<placeholdersMax).contains(placeholder), "a hole without a mark")
        var text = String.UnicodeScalarView()
        for digit in [placeholder / digits, placeholder % digits] {
            text.append(Unicode.Scalar(firstDigit + UInt32(digit)) ?? nestedSign)
        }
        return String(text)
    }

    /// Whether a text that has it could be taken for one with marks.
    package static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == nestedSign || (firstDigit..<firstDigit + UInt32(digits)).contains(scalar.value)
    }

    /// Of JSON that becomes a string in other JSON: what goes into its strings is escaped for both.
    package static func nesting(_ json: String) -> String {
        var text = String.UnicodeScalarView()
        var isSecondDigit = false
        for scalar in json.unicodeScalars {
            let isDigit = isPart(scalar)
            if isDigit, !isSecondDigit { text.append(nestedSign) }
            isSecondDigit = isDigit && !isSecondDigit
            text.append(scalar)
        }
        return String(text)
    }

    /// The mark that begins there, and its length.
    fileprivate static func read(_ bytes: [UInt8], at start: Int) -> (place: PlaceholderText.Place, count: Int)? {
        let isNested = bytes[start...].starts(with: [0xef, 0xbf, 0xbe])
        let first = isNested ? start + 3 : start
        guard let high = digit(bytes, at: first), let low = digit(bytes, at: first + 3) else { return nil }
        return (.placeholder(high * digits + low, isNested: isNested), first + 6 - start)
    }

    /// U+FDD0 to U+FDEF in UTF-8.
    private static func digit(_ bytes: [UInt8], at start: Int) -> Int? {
        guard start + 3 <= bytes.count, bytes[start] == 0xef, bytes[start + 1] == 0xb7,
            (0x90...0xaf).contains(bytes[start + 2])
        else { return nil }
        return Int(bytes[start + 2]) - 0x90
    }
}

/// JSON around what differs from device to device: fixed pieces, and the places between them.
package struct PlaceholderText: Equatable, Sendable {
    /// What goes in.
    package enum Place: Hashable, Sendable {
        /// The inside of a string; where it is nested, of a string in the JSON that a string holds.
        case placeholder(Int, isNested: Bool)
        /// Whatever its provider marked with this control character.
        case mark(UInt8)
    }

    package enum Part: Equatable, Sendable {
        case fixed([UInt8])
        /// By its place among `places`.
        case place(Int)
    }

    package private(set) var parts: [Part] = []
    /// Each once.
    package private(set) var places: [Place] = []
    /// How often each stands in the text.
    package private(set) var occurrences: [Int] = []
    package private(set) var fixedBytes = 0

    /// - Parameter json: a control character stands there for itself alone, since strings escape theirs.
    package init(marked json: [UInt8]) {
        var fixed: [UInt8] = []
        var index = 0
        while index < json.count {
            if json[index] < 0x20 {
                add(.mark(json[index]), behind: &fixed)
                index += 1
            } else if json[index] == 0xef, let (place, count) = PlaceholderMark.read(json, at: index) {
                add(place, behind: &fixed)
                index += count
            } else {
                fixed.append(json[index])
                index += 1
            }
        }
        close(&fixed)
    }

    private mutating func add(_ place: Place, behind fixed: inout [UInt8]) {
        close(&fixed)
        let index = places.firstIndex(of: place) ?? places.count
        if index == places.count {
            places.append(place)
            occurrences.append(0)
        }
        occurrences[index] += 1
        parts.append(.place(index))
    }

    private mutating func close(_ fixed: inout [UInt8]) {
        guard !fixed.isEmpty else { return }
        fixedBytes += fixed.count
        parts.append(.fixed(fixed))
        fixed = []
    }

    /// Whether devices' own values go in, beside what the provider marked.
    package var hasPlaceholders: Bool {
        places.contains { if case .placeholder = $0 { true } else { false } }
    }

    /// - Parameter pieces: one for each of `places`, as JSON.
    package func bytes(filledWith pieces: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in parts {
            switch part {
            case .fixed(let fixed): bytes += fixed
            case .place(let index): bytes += pieces[index]
            }
        }
        return bytes
    }
}
