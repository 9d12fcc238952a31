/// Keeps one quotation mark on either side, so that the code after a literal can be judged.
struct Token: Equatable {
    let text: String
    /// Counted from 0.
    let line: Int
    /// Whether a space or a line end stands before it.
    let isApart: Bool

    var isWord: Bool { text.utf8.first.map(Token.isWordByte) ?? false }

    static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
            true
        default: false
        }
    }
}

extension SourceText {
    var tokens: [Token] {
        var tokens: [Token] = []
        for (line, bytes) in code.enumerated() {
            var place = 0
            var isApart = true
            while place < bytes.count {
                guard bytes[place] != UInt8(ascii: " ") else {
                    isApart = true
                    place += 1
                    continue
                }
                var end = place + 1
                if Token.isWordByte(bytes[place]) {
                    while end < bytes.count, Token.isWordByte(bytes[end]) { end += 1 }
                }
                let text = String(decoding: bytes[place..<end], as: UTF8.self)
                tokens.append(Token(text: text, line: line, isApart: isApart))
                isApart = false
                place = end
            }
        }
        return tokens
    }
}

extension [Token] {
    /// The place after the partner of the opening mark at `opening`; the end if it has none.
    func end(ofGroupAt opening: Int) -> Int {
        var depth = 0
        for place in opening..<count {
            switch self[place].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}":
                depth -= 1
                if depth == 0 { return place + 1 }
            default: break
            }
        }
        return count
    }

    subscript(safely place: Int) -> Token? { indices.contains(place) ? self[place] : nil }
}
