import Content
import Expressions
import TestSupport
import Testing

@Suite("A template text")
struct TemplateTextTests {
    private static func attribute(_ names: String..., fallback: String = "") -> TemplateText.Part {
        .placeholder(TemplatePlaceholder(.attribute(AttributePath(names)), fallback: fallback))
    }

    private static let readings: [(String, [TemplateText.Part])] = [
        ("", []),
        ("Noon", [.literal("Noon")]),
        ("a { b } }} { {", [.literal("a { b } }} { {")]),
        ("{{user}}", [.placeholder(TemplatePlaceholder(.text(.profile(.user))))]),
        ("{{carillon_own|default:'x'}}", [.placeholder(TemplatePlaceholder(.own, fallback: "x"))]),
        ("Hi {{attributes.first_name}}!", [.literal("Hi "), attribute("first_name"), .literal("!")]),
        ("{{ attributes.name|default:'you' }}", [attribute("name", fallback: "you")]),
        ("{{\tattributes.name\n| default : \"it's\"}}", [attribute("name", fallback: "it's")]),
        ("{{attributes['first name'][\"}}\"].x}}", [attribute("first name", "}}", "x")]),
        ("{{attributes.a}}{{attributes.b}}", [attribute("a"), attribute("b")]),
        ("{{attributes.a | default: 'say \\'hi\\' \\\\'}}", [attribute("a", fallback: #"say 'hi' \"#)]),
        ("ä{{'{{'}}user}}", [.literal("ä{{user}}")]),
        ("{{ '' }}", []),
        (
            "{{locale}} {{time_zone}} {{app_version}} {{installation}}",
            [
                .placeholder(TemplatePlaceholder(.text(.profile(.locale)))), .literal(" "),
                .placeholder(TemplatePlaceholder(.text(.profile(.timeZone)))),
                .literal(" "),
                .placeholder(TemplatePlaceholder(.text(.profile(.appVersion)))), .literal(" "),
                .placeholder(TemplatePlaceholder(.text(.installation))),
            ]
        ),
    ]

    @Test("parses into literals and placeholders", arguments: 0..<readings.count)
    func reading(place: Int) throws {
        let (text, parts) = Self.readings[place]
        #expect(try TemplateText(parsing: text).parts == parts)
    }

    private static let faults: [(String, Int, TemplateFault.Reason)] = [
        ("Hi {{attributes.name", 4, .notClosed),
        ("{{", 1, .notClosed),
        ("äö{{user", 3, .notClosed),
        ("{{user} }", 7, .expected(.defaultOrEnd)),
        ("{{}}", 3, .expected(.field)),
        ("{{ 1 }}", 4, .expected(.field)),
        ("{{{user}}}", 3, .expected(.field)),
        ("{{first_name}}", 3, .unknownField("first_name")),
        ("{{topic}}", 3, .unknownField("topic")),
        ("{{attributes}}", 13, .expected(.attributeName)),
        ("{{attributes.}}", 14, .expected(.attributeName)),
        ("{{attributes[name]}}", 14, .expected(.quotedName)),
        ("{{attributes['a'}}", 17, .expected(.closingBracket)),
        ("{{user|upper}}", 8, .expected(.default)),
        ("{{user|default 'x'}}", 16, .expected(.colon)),
        ("{{user|default: x}}", 17, .expected(.text)),
        ("{{user|default:'x'|default:'y'}}", 19, .expected(.end)),
        ("{{'a' user}}", 7, .expected(.end)),
        ("{{user|default:'x}}", 16, .quotedText(.notClosed)),
        ("{{user|default:'\\n'}}", 17, .quotedText(.unknownEscape)),
        ("{{user|default:'\n'}}", 17, .quotedText(.controlCharacter)),
        ("{{attributes.a.b.c.d.e.f.g.h.i}}", 29, .tooManyNames),
        (String(repeating: "{{user}}", count: 33), 257, .tooManyPlaceholders),
    ]

    @Test("reports the position and the reason of a syntax error", arguments: 0..<faults.count)
    func fault(place: Int) {
        let (text, position, reason) = Self.faults[place]
        #expect(throws: TemplateFault(position: position, reason: reason)) { try TemplateText(parsing: text) }
    }

    /// Text that `TemplateText` should parse to the same parts.
    private func written(_ parts: [TemplateText.Part]) -> String {
        func quoted(_ text: String) -> String {
            "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
        return parts.map { part in
            switch part {
            case .literal(let text): text.replacing("{", with: "{{'{'}}")
            case .placeholder(let placeholder):
                switch placeholder.field {
                case .text(let field): "{{\(field.name) | default: \(quoted(placeholder.fallback))}}"
                case .own: "{{carillon_own | default: \(quoted(placeholder.fallback))}}"
                case .attribute(let path):
                    "{{attributes\(path.names.map { "[\(quoted($0))]" }.joined())|default:\(quoted(placeholder.fallback))}}"
                }
            }
        }.joined()
    }

    @Test("round-trips random pieces that parse, and reports a valid position for the others")
    func noise() throws {
        var random = SeededGenerator(seed: 11)
        let pieces = [
            "{{", "}}", "{", "}", "'", "\"", "\\", "|", "default", ":", "attributes", ".", "[", "]", "user", "name",
            " ",
            "\n", "ä", "\u{0}", "x", "'a b'", "{{user}}", "| default: 'you' }}", "{{ attributes.name",
        ]
        var understood = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...8, using: &random)
            let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
            switch Result(catching: { () throws(TemplateFault) in try TemplateText(parsing: text).parts }) {
            case .success(let parts):
                #expect(try TemplateText(parsing: written(parts)).parts == parts, "\(text)")
                if parts.contains(where: { if case .placeholder = $0 { true } else { false } }) { understood += 1 }
                if !TemplateText.isOne(text) { #expect(parts == (text.isEmpty ? [] : [.literal(text)])) }
            case .failure(let fault):
                #expect((1...max(1, text.unicodeScalars.count)).contains(fault.position), "\(text)")
            }
        }
        #expect(understood > 500, "too few random inputs are valid")
    }

    @Test("accepts or rejects random bytes without a crash")
    func bytes() {
        var random = SeededGenerator(seed: 12)
        for _ in 0..<5_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random) ? UInt8(ascii: "{") : UInt8.random(in: 0...255, using: &random)
            }
            _ = try? TemplateText(parsing: String(decoding: bytes, as: UTF8.self))
        }
    }
}
