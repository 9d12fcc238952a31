import Foundation
import Requests
import Testing

@Suite("docs/errors.md")
struct ErrorPageTests {
    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test("explains every problem code once")
    func everyCode() {
        #expect(
            ProblemCode.allCases.filter { ErrorPage.text.components(separatedBy: "\n## \($0.rawValue)\n").count != 2 }
                == [])
    }

    @Test("gives each problem code a cause and a remedy in whole sentences")
    func sentences() {
        let paragraphs = ErrorPage.text.dropLast().components(separatedBy: "\n\n")
        for name in ["Cause: ", "Remedy: "] {
            let input = paragraphs.filter { $0.hasPrefix(name) }
            #expect(input.count == ProblemCode.allCases.count)
            #expect(input.filter { !$0.hasSuffix(".") || $0.contains("\n") || $0.count < 15 } == [])
        }
    }

    @Test("contains every problem code that the program declares")
    func everyDeclaration() throws {
        var declared: [String] = []
        let files = FileManager.default.enumerator(
            at: Self.root.appending(path: "Sources"), includingPropertiesForKeys: nil)
        for case let file as URL in try #require(files) where file.lastPathComponent.hasPrefix("ProblemCode+") {
            let source = try String(contentsOf: file, encoding: .utf8)
            declared += source.matches(of: /= ProblemCode\(\s*"(\w+)"/).map { String($0.1) }
        }
        #expect(declared.sorted() == ProblemCode.allCases.map(\.rawValue).sorted())
    }

    @Test("equals the program's output byte for byte: carillon errors >docs/errors.md")
    func written() throws {
        let page = try Data(contentsOf: Self.root.appending(path: "docs/errors.md"))
        #expect(page == Data(ErrorPage.bytes), "write the page again: .build/release/carillon errors >docs/errors.md")
    }
}
