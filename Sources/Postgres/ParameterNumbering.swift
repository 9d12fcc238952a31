import Basis

/// Replaces the names of parameters in SQL by numbers, in the order in which they first occur.
///
/// Quoted text, quoted identifiers, comments and casts (`::`) are copied. In an array slice, a space keeps an
/// identifier behind the colon from being read as a parameter.
struct ParameterNumbering {
    private let input: [UInt8]
    private var position = 0
    private(set) var output: [UInt8] = []
    private(set) var names: [String] = []

    init(_ text: String) {
        input = Array(text.utf8)
        output.reserveCapacity(input.count)
    }

    mutating func run() {
        while position < input.count {
            switch input[position] {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): copy(through: input[position])
            case UInt8(ascii: "-") where next == UInt8(ascii: "-"): copy(through: UInt8(ascii: "\n"))
            case UInt8(ascii: ":") where next == UInt8(ascii: ":"): copy(2)
            case UInt8(ascii: ":") where next.map(Self.beginsName) == true: number()
            default: copy(1)
            }
        }
    }

    private var next: UInt8? { position + 1 < input.count ? input[position + 1] : nil }

    private mutating func copy(_ count: Int) {
        output.append(contentsOf: input[position..<position + count])
        position += count
    }

    private mutating func copy(through end: UInt8) {
        copy(1)
        while position < input.count {
            let byte = input[position]
            copy(1)
            if byte == end { return }
        }
    }

    private mutating func number() {
        let start = position + 1
        position = start
        while position < input.count, Self.beginsName(input[position]) || input[position].isDigit { position += 1 }
        let name = String(decoding: input[start..<position], as: UTF8.self)
        let index = names.firstIndex(of: name) ?? names.count
        if index == names.count { names.append(name) }
        output.append(contentsOf: "$\(index + 1)".utf8)
    }

    private static func beginsName(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "_") || byte.isSmallLetter }
}
