import Foundation
import GatewayAPI
import Testing

@Suite("docs/errors.md")
struct ErrorPageTests {
    @Test("explains every code once, in the order of the program")
    func everyCode() {
        #expect(ErrorPage.codes == ProblemCode.allCases)
        #expect(
            ErrorPage.codes.filter { ErrorPage.text.components(separatedBy: "\n## \($0.rawValue)\n").count != 2 } == [])
    }

    @Test("gives each a cause and a remedy that are sentences")
    func sentences() {
        let paragraphs = ErrorPage.text.dropLast().components(separatedBy: "\n\n")
        for word in ["Cause: ", "Remedy: "] {
            let said = paragraphs.filter { $0.hasPrefix(word) }
            #expect(said.count == ProblemCode.allCases.count)
            #expect(said.filter { !$0.hasSuffix(".") || $0.contains("\n") || $0.count < 15 } == [])
        }
    }

    @Test("is byte for byte what the program writes: carillon errors >docs/errors.md")
    func written() throws {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try Data(contentsOf: root.appending(path: "docs/errors.md"))
        #expect(page == Data(ErrorPage.bytes), "write it anew: .build/release/carillon errors >docs/errors.md")
    }
}
