import Basis
import Expressions

/// Parses the text of a template into its parts. Throws the position of the first error.
struct TemplateReader {
    private let bytes: [UInt8]
    private var index = 0
    private var parts: [TemplateText.Part] = []
    private var literal: [UInt8] = []
    private var placeholderCount = 0
    /// The fault of a sender's text: the first place that names the field of own values.
    private(set) var ownFault: TemplateFault?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func read() throws(TemplateFault) -> [TemplateText.Part] {
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "{"), take("{{") {
                try readInside(from: index - 2)
            } else {
                literal.append(bytes[index])
                index += 1
            }
        }
        closeLiteral()
        return parts
    }

    private mutating func closeLiteral() {
        guard !literal.isEmpty else { return }
        parts.append(.literal(String(decoding: literal, as: UTF8.self)))
        literal = []
    }

    private mutating func readInside(from opening: Int) throws(TemplateFault) {
        skipBlanks()
        if let text = try takeText() {
            try close(opening, .end)
            literal += Array(text.utf8)
            return
        }
        let field = try takeField(opening)
        var fallback = ""
        skipBlanks()
        if take("|") {
            skipBlanks()
            guard take("default") else { throw unexpected(.default, opening) }
            skipBlanks()
            guard take(":") else { throw unexpected(.colon, opening) }
            skipBlanks()
            guard let text = try takeText() else { throw unexpected(.text, opening) }
            fallback = text
            try close(opening, .end)
        } else {
            try close(opening, .defaultOrEnd)
        }
        placeholderCount += 1
        guard placeholderCount <= TemplateLimits.placeholdersPerTextMax else {
            throw fault(.tooManyPlaceholders, at: opening)
        }
        closeLiteral()
        parts.append(.placeholder(TemplatePlaceholder(field, fallback: fallback)))
    }

    private mutating func close(_ opening: Int, _ expected: TemplateFault.Expectation) throws(TemplateFault) {
        skipBlanks()
        guard take("}}") else { throw unexpected(expected, opening) }
    }

    private mutating func takeField(_ opening: Int) throws(TemplateFault) -> DeviceField {
        let start = index
        let name = takeName()
        guard !name.isEmpty else { throw unexpected(.field, opening) }
        if let field = DeviceField.texts.first(where: { $0.name == name }) { return .text(field) }
        if name == DeviceField.ownName {
            ownFault = ownFault ?? fault(.unknownField(name), at: start)
            return .own
        }
        guard name == "attributes" else { throw fault(.unknownField(name), at: start) }
        var names: [String] = []
        repeat {
            skipBlanks()
            let place = index
            if take(".") {
                let name = takeName()
                guard !name.isEmpty else { throw unexpected(.attributeName, opening) }
                names.append(name)
            } else if take("[") {
                skipBlanks()
                guard let name = try takeText() else { throw unexpected(.quotedName, opening) }
                skipBlanks()
                guard take("]") else { throw unexpected(.closingBracket, opening) }
                names.append(name)
            } else if names.isEmpty {
                throw unexpected(.attributeName, opening)
            } else {
                return .attribute(AttributePath(names))
            }
            guard names.count <= FilterLimits.attributeNamesMax else { throw fault(.tooManyNames, at: place) }
        } while true
    }
}

extension TemplateReader {
    private mutating func skipBlanks() {
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
    }

    private mutating func take(_ symbol: StaticString) -> Bool {
        let wanted = symbol.description.utf8
        guard bytes[index...].starts(with: wanted) else { return false }
        index += wanted.count
        return true
    }

    /// Empty if no name begins here.
    private mutating func takeName() -> String {
        let start = index
        while index < bytes.count, ExpressionLexer.isLetter(bytes[index]) || index > start && bytes[index].isDigit {
            index += 1
        }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }

    /// nil if no quotation mark stands here.
    private mutating func takeText() throws(TemplateFault) -> String? {
        guard index < bytes.count, QuotedText.isMark(bytes[index]) else { return nil }
        do throws(QuotedText.Fault) { return try QuotedText.read(bytes, at: &index) } catch {
            throw fault(.quotedText(error.reason), at: error.offset)
        }
    }

    /// At the end of the text, the error is the unclosed opening.
    private func unexpected(_ expected: TemplateFault.Expectation, _ opening: Int) -> TemplateFault {
        index < bytes.count ? fault(.expected(expected), at: index) : fault(.notClosed, at: opening)
    }

    private func fault(_ reason: TemplateFault.Reason, at offset: Int) -> TemplateFault {
        TemplateFault(position: ExpressionLexer.position(of: offset, in: bytes), reason: reason)
    }
}
