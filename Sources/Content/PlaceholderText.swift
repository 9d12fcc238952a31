/// Marks for placeholders in a message's texts.
///
/// A mark is two of Unicode's noncharacters, which occur in no exchanged text and which no step to JSON changes.
package enum PlaceholderMark {
    /// The number of different marks.
    package static let placeholdersMax = digits * digits
    private static let digits = 32
    private static let firstDigit: UInt32 = 0xfdd0
    private static let nestedSign: Unicode.Scalar = "\u{fffe}"

    package static func text(_ placeholder: Int) -> String {
        precondition((0..<placeholdersMax).contains(placeholder), "the placeholder's number is below the limit")
        var text = String.UnicodeScalarView()
        for digit in [placeholder / digits, placeholder % digits] {
            text.append(Unicode.Scalar(firstDigit + UInt32(digit)) ?? nestedSign)
        }
        return String(text)
    }

    /// The numbers of the placeholders whose marks a text has, in their order.
    package static func numbers(in text: String) -> [Int] {
        let all = text.unicodeScalars.filter { isPart($0) && $0 != nestedSign }.map { Int($0.value - firstDigit) }
        return stride(from: 0, to: all.count - 1, by: 2).map { all[$0] * digits + all[$0 + 1] }
    }

    /// True if a text that contains it could be mistaken for one with marks.
    package static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == nestedSign || (firstDigit..<firstDigit + UInt32(digits)).contains(scalar.value)
    }

    /// Flags the marks of JSON that becomes a string in other JSON: values filled in there are escaped twice.
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

    /// The mark that begins at `start`, and its length.
    fileprivate static func read(_ bytes: [UInt8], at start: Int) -> (place: PlaceholderText.Place, count: Int)? {
        let isNested = bytes[start...].starts(with: [0xef, 0xbf, 0xbe])
        let first = isNested ? start + 3 : start
        guard let high = digit(bytes, at: first), let low = digit(bytes, at: first + 3) else { return nil }
        return (.placeholder(high * digits + low, isNested: isNested), first + 6 - start)
    }

    /// The digit that U+FDD0 to U+FDEF stands for, in UTF-8.
    private static func digit(_ bytes: [UInt8], at start: Int) -> Int? {
        guard start + 3 <= bytes.count, bytes[start] == 0xef, bytes[start + 1] == 0xb7,
            (0x90...0xaf).contains(bytes[start + 2])
        else { return nil }
        return Int(bytes[start + 2]) - 0x90
    }
}

/// JSON with values that differ by device: fixed pieces, and the places between them.
package struct PlaceholderText: Equatable, Sendable {
    package enum Place: Hashable, Sendable {
        /// The inside of a string. `isNested`: of a string in JSON that is itself a string.
        case placeholder(Int, isNested: Bool)
        /// The value that the provider marked with this control character.
        case mark(UInt8)
    }

    package enum Part: Equatable, Sendable {
        case fixed([UInt8])
        /// The place's index in `places`.
        case place(Int)
    }

    package private(set) var parts: [Part] = []
    /// Each place once.
    package private(set) var places: [Place] = []
    /// How often each place occurs in the text.
    package private(set) var occurrences: [Int] = []
    package private(set) var fixedBytes = 0

    /// - Parameter json: a control character in it is always a mark, because strings escape theirs.
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

    /// True if devices' own values go in, beside the provider's marks.
    package var hasPlaceholders: Bool { places.contains { if case .placeholder = $0 { true } else { false } } }

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
