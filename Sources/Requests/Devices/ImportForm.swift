/// The form of an import: NDJSON. Files that others export have other forms, which a refusal should name.
package enum ImportForm {
    package static let advice =
        "An import is NDJSON: one whole JSON object on each line, in UTF-8 and not compressed, such as "
        + #"{"installation": "phone-1", "provider": "fcm", "token": "..."}."#

    /// Returns the problem of a refused line. If the line is no whole object, the problem says what it seems to be.
    package static func explain(_ problem: Problem, of line: [UInt8], number: Int) -> Problem {
        let first = line.first { !isBlank($0) }
        let last = line.last { !isBlank($0) }
        // The reader's own sentence about a whole object is more exact.
        if first == UInt8(ascii: "{"), last == UInt8(ascii: "}") { return problem }
        return Problem(problem.code, "\(sentence(about: line, first, number: number)) \(advice)", at: problem.pointer)
    }

    private static let archives: [(beginning: [UInt8], name: String)] = [
        ([0x1f, 0x8b], "gzip"), ([0x50, 0x4b, 0x03, 0x04], "zip"), ([0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    ]

    private static func sentence(about line: [UInt8], _ first: UInt8?, number: Int) -> String {
        if number == 1, let archive = archives.first(where: { line.starts(with: $0.beginning) }) {
            return "This is compressed (\(archive.name))."
        }
        // A byte order mark, or a letter of ASCII beside its other half.
        if line.starts(with: [0xff, 0xfe]) || line.starts(with: [0xfe, 0xff]) || line.prefix(2).contains(0) {
            return "This is UTF-16."
        }
        switch first {
        case UInt8(ascii: "["): return "This is a JSON array."
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "]"): return partOfObject
        case UInt8(ascii: "\"") where isMember(line): return partOfObject
        case _ where line.contains(where: separators.contains): return "This looks like CSV."
        default: return "This is not a JSON object."
        }
    }

    private static let partOfObject = "This line has only a part of a JSON object."
    private static let separators = Array(",;\t".utf8)

    /// Whether the line begins with a name in quotation marks and a colon, as a member of an object does.
    private static func isMember(_ line: [UInt8]) -> Bool {
        guard let end = line.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false).dropFirst(2).first
        else { return false }
        return end.first { !isBlank($0) } == UInt8(ascii: ":")
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
