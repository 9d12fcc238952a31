import API
import Content
import Foundation
import Signing
import Testing

@Suite("docs/errors.md")
struct ErrorPageTests {
    private static let page = String(decoding: EmbeddedDocuments.errors, as: UTF8.self)

    @Test("explains every problem code, with its status and title, and no other")
    func everyCode() {
        let sections = Self.page.components(separatedBy: "\n## ").dropFirst()
        #expect(
            sections.map { $0.split(separator: "\n").prefix(2).joined(separator: "\n") }.sorted()
                == ProblemCode.allCases.map { "\($0.rawValue)\n**\($0.status)** · \($0.title)" }.sorted())
    }

    @Test("gives each problem code a cause and a remedy in whole sentences")
    func sentences() {
        for section in Self.page.components(separatedBy: "\n## ").dropFirst() {
            let paragraphs = section.components(separatedBy: "\n\n").dropFirst().prefix(2)
            for (name, paragraph) in zip(["Cause: ", "Remedy: "], paragraphs) {
                let text = paragraph.trimmingCharacters(in: .newlines)
                #expect(text.hasPrefix(name) && text.hasSuffix(".") && !text.contains("\n") && text.count >= 15)
            }
            #expect(paragraphs.count == 2, "\(section)")
        }
    }

    @Test("names the limits that are in force")
    func limits() {
        let numbers = Set(Self.page.split { !$0.isNumber }.map { Int($0) })
        let limits = [
            DerivationBudget.roundsMax, TemplateLimits.placeholdersPerTextMax, TemplateLimits.placeholdersPerMessageMax,
            TemplateLimits.placeholdersMax, TemplateLimits.fieldsMax,
        ]
        #expect(numbers.isSuperset(of: limits))
    }

    @Test("explains every problem code that the program declares")
    func everyDeclaration() throws {
        let file = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "../../Sources/API/Problems/ProblemCode.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        let declared = source.matches(of: /= ProblemCode\(\s*"(\w+)"/).map { String($0.1) }
        #expect(declared.sorted() == ProblemCode.allCases.map(\.rawValue).sorted())
    }
}
