/// A regular expression of an app, in the form in which PostgreSQL matches whole texts with it.
///
/// The wrapper is `\A(?:...)\Z`, whose anchors mean the text's ends in every mode. A pattern such as `a)|(?:.*` would
/// escape from it, so it must be a regular expression by itself too. `TriggerPatternStore` has PostgreSQL compile both.
/// Source: PostgreSQL, "POSIX Regular Expressions", in "Regular Expression Metasyntax" and "Regular Expression Escapes".
package struct WholePattern: Equatable, Sendable {
    /// The pattern as the app gave it.
    let own: String
    /// The pattern with anchors around it.
    let whole: String

    private static let director = "***"
    private static let optionsBegin = "(?"
    /// The options of a pattern that keep the wrapper's meaning: those for case, and for the ends of lines. Others begin
    /// another syntax, in which the wrapper would be text or a comment could swallow its end.
    private static let optionsTaken = Array("cimnpstw".utf8)

    /// Returns nil if the pattern begins with a director or with options of another syntax.
    package init?(_ pattern: String) {
        guard !pattern.hasPrefix(Self.director), let (options, content) = Self.split(pattern) else { return nil }
        own = pattern
        whole = options + #"\A(?:"# + content + #")\Z"#
    }

    /// Takes the options from the beginning, where alone they may stand: `(?i)`.
    private static func split(_ pattern: String) -> (options: String, content: String)? {
        let bytes = Array(pattern.utf8)
        let start = optionsBegin.utf8.count
        guard pattern.hasPrefix(optionsBegin), bytes.count > start, bytes[start].isLetter else { return ("", pattern) }
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: ")")),
            bytes[start..<end].allSatisfy(optionsTaken.contains)
        else { return nil }
        return (text(bytes[...end]), text(bytes[(end + 1)...]))
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
