import APNs
import Basis
import Encodings
import Foundation
import JSON
import Model
import Testing

/// The page docs/push-types.md, from which backends copy.
private struct PushTypePage {
    struct Example {
        let type: String
        let message: String
        let payload: String
    }

    let tableRows: [Substring]
    let examples: [Example]
    let sections: [String]

    init() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/push-types.md"), encoding: .utf8)
        tableRows = page.split(separator: "\n").filter { $0.hasPrefix("| `") && !$0.hasPrefix("| `push_type`") }
        let parts = page.split(separator: "\n## ").dropFirst()
        sections = parts.map { String($0.prefix { $0 != "\n" }) }
        var examples: [Example] = []
        for (part, name) in zip(parts, sections) {
            let blocks = part.split(separator: "```json\n").dropFirst().map { block in
                String(block.split(separator: "\n```")[0])
            }
            try #require(blocks.count % 2 == 0)
            for place in stride(from: 0, to: blocks.count, by: 2) {
                examples.append(Example(type: name, message: blocks[place], payload: blocks[place + 1]))
            }
        }
        self.examples = examples
    }
}

@Suite("docs/push-types.md")
struct PushTypePageTests {
    /// Accepted at 2026-11-22T12:00:00Z.
    private let message = MessageID(
        UUIDv7.make(at: WallInstant(secondsSince1970: 1_795_348_800), random: (0x18c4, 0x0cc3_dc0c_0c07_398f)))

    @Test("shows messages that compile into the payloads shown beside them")
    func examples() throws {
        let page = try PushTypePage()
        for example in page.examples {
            let notification = try APNsNotification.compile(try APIMessage(example.message).content, message: message)
            #expect(notification.pushType.name == example.type)
            let payload = notification.payloads[0]
            let expected = try JSONReader.read(Array(example.payload.utf8))
            #expect(try JSONReader.read(payload.head + payload.tail) == expected, "\(example.message)")
        }
        #expect(page.sections == PushType.allCases.map(\.name))
        #expect(page.examples.count == PushType.allCases.count + 3)
    }

    @Test("shows a table that agrees with the program for each push type")
    func table() throws {
        let expected = PushType.allCases.map { type in
            let row = APNsPushTypes.row(for: type)
            let kind = "`\(row.tokenKind.name)`"
            let start = row.startTokenKind == row.tokenKind ? "" : ", start: `\(row.startTokenKind.name)`"
            let suffix = row.topicSuffix.isEmpty ? "" : " `\(row.topicSuffix)`"
            let priorities = row.priorities.map { $0 == 10 ? "high" : $0 == 5 ? "normal" : "?" }
            let repeated =
                switch row.repeats {
                case .always: "yes"
                case .never: "no"
                case .unlessActivityStart: "not the start"
                }
            return "| `\(type.name)` | \(kind)\(start) |\(suffix) | \(priorities.joined(separator: ", ")) | "
                + "\(row.payloadBytesMax) | \(row.isStored ? "yes" : "no") | \(repeated) |"
        }
        #expect(try PushTypePage().tableRows.map(String.init) == expected)
    }
}
