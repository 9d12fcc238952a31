import Content

/// A file of texts for people who write no JSON.
///
/// `[fr]` begins the text in a language. `[default]`, or the lines before the first section, is the common text. Lines
/// are `title:`, `subtitle:`, `body:`, `image:` and `link:`; in the common text also `category:`, `channel:`, `thread:`
/// and `interruption:`. A line that begins with a space or a tab continues the body above it as a new
/// line. Empty lines between such lines belong to the body too.
package struct TextsFile {
    private let name: String
    private var texts = MessageTexts()
    /// nil: the common text.
    private var language: String?
    private var open: OpenPart?
    private var section: (line: Int, name: String, isEmpty: Bool)?

    private struct OpenPart {
        let part: MessageTexts.Part
        let line: Int
        var text: String
        var emptyLines = 0
    }

    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    private init(name: String) { self.name = name }

    /// - Parameter name: the file's name for errors.
    package static func read(_ bytes: [UInt8], name: String) throws(CommandFault) -> MessageTexts {
        var file = TextsFile(name: name)
        let content = bytes.starts(with: byteOrderMark) ? bytes[byteOrderMark.count...] : bytes[...]
        guard let text = String(validating: content, as: UTF8.self) else { throw file.notUTF8(content) }
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        for (place, line) in lines.enumerated() { try file.take(line, place + 1) }
        try file.endSection()
        guard !file.texts.isEmpty else { throw file.fault(1, "the file holds no text") }
        return file.texts
    }

    private mutating func take(_ line: Substring, _ number: Int) throws(CommandFault) {
        let text = Self.trimmed(line)
        if text.isEmpty {
            open?.emptyLines += 1
        } else if line.first == " " || line.first == "\t" {
            try continuePart(text, number)
        } else if text.first == "[" {
            try endSection()
            try beginSection(text, number)
        } else {
            try endPart()
            try beginPart(text, number)
        }
    }

    private mutating func continuePart(_ text: Substring, _ number: Int) throws(CommandFault) {
        guard var part = open else {
            throw fault(number, "this line continues nothing. Only a line below body: begins with a space")
        }
        guard part.part == .body else {
            throw fault(number, "a \(part.part.rawValue) has one line. Only a body goes on over further lines")
        }
        if !part.text.isEmpty { part.text += String(repeating: "\n", count: part.emptyLines + 1) }
        part.text += text
        part.emptyLines = 0
        open = part
    }

    private mutating func beginSection(_ text: Substring, _ number: Int) throws(CommandFault) {
        guard text.last == "]" else { throw fault(number, "a section is a language in brackets, such as [fr]") }
        let tag = String(Self.trimmed(text.dropFirst().dropLast()))
        section = (number, tag, true)
        if tag.lowercased() == "default" {
            language = nil
            return
        }
        guard LocaleTable.isLocale(tag) else { throw fault(number, MessageTexts.noLanguage(tag)) }
        if let given = texts.given(tag) { throw fault(number, "[\(tag)] is the same language as [\(given)] above") }
        language = tag
    }

    private mutating func beginPart(_ text: Substring, _ number: Int) throws(CommandFault) {
        guard let colon = text.firstIndex(of: ":") else {
            throw fault(
                number,
                "this is not a line such as [fr], title: or body:. A line that continues a body begins with a space")
        }
        let name = Self.trimmed(text[..<colon])
        guard let part = MessageTexts.Part(rawValue: name.lowercased()) else {
            throw fault(
                number,
                "\"\(name)\" is not one of \(MessageTexts.Part.names). A line that continues a body begins with a space"
            )
        }
        guard language == nil || part.isOfLanguage else { throw fault(number, MessageTexts.sameInAll(part)) }
        open = OpenPart(part: part, line: number, text: String(Self.trimmed(text[text.index(after: colon)...])))
    }

    private mutating func endPart() throws(CommandFault) {
        guard let part = open else { return }
        open = nil
        section?.isEmpty = false
        guard VisibleText.isVisible(part.text) else {
            throw fault(part.line, "the \(part.part.rawValue) is empty. Leave the line out if there is none")
        }
        guard texts.set(part.part, of: language, to: part.text) else {
            throw fault(part.line, "this text has a \(part.part.rawValue) already")
        }
    }

    private mutating func endSection() throws(CommandFault) {
        try endPart()
        if let section, section.isEmpty { throw fault(section.line, "[\(section.name)] has no text") }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    private func notUTF8(_ bytes: ArraySlice<UInt8>) -> CommandFault {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let place = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
        return fault(place + 1, "this is not UTF-8 text. Save the file as UTF-8")
    }

    private func fault(_ line: Int, _ sentence: String) -> CommandFault {
        CommandFault(.usage, "\(name), line \(line): \(sentence)")
    }
}
