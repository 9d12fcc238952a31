import Testing

/// Judges a text as a file of the target; returns the rule's findings without the path.
private func verdicts(_ rule: Rule, _ text: String, in target: String, file: String = "Sample.swift") throws -> [String]
{
    let manifest = try Project.manifest()
    let folder = try #require(manifest.target(named: target)).folder
    return rule.judge(SourceFile(SourceText(path: "\(folder)/\(file)", text: text), in: manifest)).map {
        "\($0.line): \($0.complaint)"
    }
}

private func verdictsInTests(_ rule: Rule, _ text: String) throws -> [String] {
    let file = SourceFile(SourceText(path: "Tests/TidyTests/Sample.swift", text: text), in: try Project.manifest())
    return rule.judge(file).map(\.complaint)
}

@Suite("The rules of the source code")
struct RuleTests {
    @Test("report Foundation outside programs and tests")
    func foundation() throws {
        let text = "import Foundation\n"
        #expect(try verdicts(.foundationIsForPrograms, text, in: "Store").count == 1)
        #expect(
            try verdicts(.foundationIsForPrograms, "import FoundationEssentials\n", in: "PrivatePostgres").count == 1)
        #expect(try verdicts(.foundationIsForPrograms, text, in: "Server").isEmpty)
        #expect(try verdicts(.foundationIsForPrograms, text, in: "carillon-bench").isEmpty)
        #expect(try verdicts(.foundationIsForPrograms, text, in: "CarillonClient").isEmpty)
        #expect(try verdictsInTests(.foundationIsForPrograms, text).isEmpty)
    }

    @Test("report the C library above the system layer, and locks in pure targets")
    func systemLibraries() throws {
        #expect(try verdicts(.systemLibrariesStayLow, "import Glibc\n", in: "Delivery").count == 1)
        #expect(try verdicts(.systemLibrariesStayLow, "import Glibc\n", in: "Reactor").isEmpty)
        #expect(try verdicts(.systemLibrariesStayLow, "import Synchronization\n", in: "QueueRules").count == 1)
        #expect(try verdicts(.systemLibrariesStayLow, "import Synchronization\n", in: "Delivery").isEmpty)
    }

    @Test("report a provider's name outside its folder")
    func providers() throws {
        let text =
            "import FCM\nif provider == .apns {}\nlet all = [Provider.fcm, .hms]\nswitch id { case .webpush: 1 }\n"
        #expect(
            try verdicts(.providersStayInTheirFolders, text, in: "Delivery").map { $0.prefix(2) } == [
                "1:", "2:", "3:", "3:", "4:",
            ])
        #expect(try verdicts(.providersStayInTheirFolders, text, in: "FCM").isEmpty)
        #expect(try verdicts(.providersStayInTheirFolders, text, in: "Simulator").isEmpty)
        #expect(try verdicts(.providersStayInTheirFolders, text, in: "Server", file: "ProviderEndpoints.swift").isEmpty)
        let members = "let url = standIns.fcm\nlet port = ports[0].apns\nimport Providers\n"
        #expect(try verdicts(.providersStayInTheirFolders, members, in: "CommandLine").isEmpty)
    }

    @Test("report an initialiser that takes two parts of the service context")
    func serviceContext() throws {
        let text = """
            init(store: Store, log: Logger, on database: DatabaseWatch) {}
            init(log: Logger, steps: Int) {}
            struct Handlers {
                let log: Logger
                let clock: () -> Int
            }
            """
        #expect(try verdicts(.servicesShareAContext, text, in: "Delivery").map { $0.prefix(2) } == ["1:", "2:", "3:"])
        let single = """
            init(log: Logger, clocks: Int) {}
            func run(log: Logger, steps: Int) {}
            struct Handlers {
                private let log: Logger
                private let clock: () -> Int
                init(_ context: ServiceContext) { (log, clock) = (context.log, context.clock) }
                func run(steps: Int) { let database: Int = steps }
            }
            """
        #expect(try verdicts(.servicesShareAContext, single, in: "Delivery").isEmpty)
    }

    @Test("report SQL whose parameters have numbers, or whose states are numbers")
    func sql() throws {
        let text = #"""
            let one = "SELECT $1, p.state = 2" // $1
            let two = """
                UPDATE parcels SET state = \(ParcelState.ready.sql) WHERE id = :id AND state IN (1, 4)
                """
            let three = values.map { "\($0)" } + "state, 2" // state = 2
            """#
        #expect(
            try verdicts(.sqlNamesItsValues, text, in: "Store").map { $0.prefix(2) } == [
                "1:", "1:", "3:",
            ])
    }

    @Test("report XCTest and @testable imports")
    func oldTests() throws {
        #expect(try verdictsInTests(.noOldTests, "import XCTest\n@testable import Store\n").count == 2)
        #expect(try verdictsInTests(.noOldTests, "import Testing\n// @testable import Store\n").isEmpty)
    }

    @Test("report unsafe code outside the system layer")
    func unsafe() throws {
        let text =
            "let first = unsafe pointer.pointee\nnonisolated(unsafe) var count = 0\nvar place: UnsafeRawPointer\n"
        #expect(
            try verdicts(.unsafeStaysInTheSystemLayer, text, in: "Store").map { $0.prefix(2) } == ["1:", "2:", "3:"])
        #expect(try verdicts(.unsafeStaysInTheSystemLayer, text, in: "TLS").isEmpty)
    }

    @Test("report @unchecked without a proof or outside the system layer")
    func unchecked() throws {
        let bare = "final class Lane: @unchecked Sendable {\n"
        let proof = "// Proof for `@unchecked`: touched on its loop only.\n"
        #expect(try verdicts(.uncheckedIsProven, bare, in: "TLS").count == 1)
        #expect(try verdicts(.uncheckedIsProven, "/// A lane.\n" + bare, in: "TLS").count == 1)
        #expect(try verdicts(.uncheckedIsProven, proof + "\n" + bare, in: "TLS").count == 1)
        #expect(try verdicts(.uncheckedIsProven, proof + bare, in: "TLS").isEmpty)
        #expect(try verdicts(.uncheckedIsProven, bare + "    " + proof, in: "TLS").isEmpty)
        #expect(try verdicts(.uncheckedIsProven, proof + bare, in: "Delivery").count == 1)
    }

    @Test(
        "report code that can end the program",
        arguments: [
            "fatalError()", "let port = try! open()", "let lane = thing as! Lane", "let first = items.first!",
            "let byte = bytes[0]!", "call()!.go()", "let count: Int!", "let length = \"abc\".first!", "if x! == y {}",
            "let t = \"\\(secret!)\"",
        ])
    func traps(sample: String) throws {
        #expect(try verdicts(.noTraps, sample + "\n", in: "Server").count == 1)
    }

    @Test(
        "accept code that only looks like a trap",
        arguments: [
            "// fatalError() and first!", "let text = \"try! as! first!\"", "if a != b {}", "if !flag {}",
            "guard !(a && b) else {}",
            "let raw = #\"first!\"#", "let long = \"\"\"\n  first!\n  \"\"\"", "/* first! /* as! */ try! */", "a!=b",
            "f(!a, !b)",
            "precondition(count > 0, \"ours!\")",
        ])
    func harmless(sample: String) throws {
        #expect(try verdicts(.noTraps, sample + "\n", in: "Server").isEmpty)
    }

    @Test("report printing outside the console")
    func printing() throws {
        #expect(try verdicts(.printingHasOnePlace, "print(1)\ndebugPrint(2)\n", in: "Server").count == 2)
        #expect(try verdicts(.printingHasOnePlace, "print(1)\n", in: "CommandLine", file: "Console.swift").isEmpty)
        #expect(
            try verdicts(.printingHasOnePlace, "console.print(1)\nfunc print(_ text: String) {}\n", in: "Server")
                .isEmpty)
    }

    @Test(
        "report clocks, randomness and other side effects in a pure target",
        arguments: [
            "let now = ContinuousClock.now", "let day = Date()", "let seed = UInt64.random(in: 0..<9)",
            "list.shuffled()",
            "let now = time(nil)", "var hasher = Hasher()", "Task { }",
        ])
    func impure(sample: String) throws {
        #expect(try verdicts(.pureTargetsAreDeterministic, sample, in: "QueueRules").count == 1)
        #expect(try verdicts(.pureTargetsAreDeterministic, sample, in: "Store").isEmpty)
    }

    @Test("accept names such as time and random in a pure target")
    func pureWords() throws {
        let text = "let time = instant\nfunc make(random: UInt64) {}\n"
        #expect(try verdicts(.pureTargetsAreDeterministic, text, in: "Encodings").isEmpty)
    }

    @Test(
        "report unordered collections in a pure target",
        arguments: [
            "var seen: Set<Int> = []", "var names: [String: Int]", "let table = [\"a\": 1]", "var empty = [:]",
            "Dictionary(grouping: list)", "func f(_ x: [[Int]: (Int, Int)]) {}",
        ])
    func unordered(sample: String) throws {
        #expect(try verdicts(.pureTargetsKeepOrder, sample + "\n", in: "JSON").count == 1)
        #expect(try verdicts(.pureTargetsKeepOrder, sample + "  // lookup only\n", in: "JSON").isEmpty)
        #expect(try verdicts(.pureTargetsKeepOrder, sample + "\n", in: "Delivery").isEmpty)
    }

    @Test(
        "accept arrays, subscripts and conditional expressions in a pure target",
        arguments: [
            "let list: [Int] = [1, 2]", "let one = items[safely: 3]", "let pick = [isHigh ? 1 : 2, 3]",
            "let calls = [f(a: 1), g { (b: Int) in b }]", "let f = { [weak self] (a: Int) in a }",
        ])
    func ordered(sample: String) throws {
        #expect(try verdicts(.pureTargetsKeepOrder, sample + "\n", in: "JSON").isEmpty)
    }

    @Test("report files and functions that are too long")
    func sizes() throws {
        let line = "    let count = 1\n"
        let file = String(repeating: "let count = 1\n", count: Rule.fileLinesMax)
        #expect(try verdicts(.filesAreShort, file, in: "Store").isEmpty)
        #expect(try verdicts(.filesAreShort, file + "let more = 1\n", in: "Store") == ["1: 401 lines"])

        func function(_ head: String, bodyLines: Int) -> String {
            head + " {\n" + String(repeating: line, count: bodyLines) + "}\n"
        }
        let fits = Rule.functionLinesMax - 2
        for head in ["func go(a: [Int] = [])", "init<T>(_ t: T) where T: P", "subscript(a: Int) -> Int", "deinit"] {
            #expect(try verdicts(.functionsAreShort, function(head, bodyLines: fits), in: "Store").isEmpty)
            #expect(
                try verdicts(.functionsAreShort, "\n" + function(head, bodyLines: fits + 1), in: "Store") == [
                    "2: a function of 71 lines"
                ])
        }
        let requirement = "protocol P {\n    func go() -> Int\n}\n" + function("struct S", bodyLines: 80)
        #expect(try verdicts(.functionsAreShort, requirement, in: "Store").isEmpty)
        #expect(try verdictsInTests(.functionsAreShort, function("func go()", bodyLines: fits + 1)).count == 1)
    }

    @Test("report marks of unfinished work")
    func unfinished() throws {
        let mark = "TO" + "DO:"
        #expect(try verdicts(.nothingIsUnfinished, "let a = 1  // \(mark) later\n", in: "Store") == ["1: \(mark)"])
        #expect(try verdicts(.nothingIsUnfinished, "let a = \"// \(mark)\"\n", in: "Store").isEmpty)
    }

    @Test("report comments that open without a subject, and sentences of more than 30 words")
    func comments() throws {
        let words = (1...15).map { "a\($0)" }.joined(separator: " ")
        #expect(try verdicts(.commentsReadPlainly, "/// Whose key it is.\nlet key = 1\n", in: "Store").count == 1)
        #expect(try verdicts(.commentsReadPlainly, "// The first \(words)\n// \(words).\n", in: "Store").count == 1)
        #expect(try verdicts(.commentsReadPlainly, "// The first \(words).\n// Then \(words).\n", in: "Store").isEmpty)
        #expect(
            try verdicts(.commentsReadPlainly, "/// - Parameter key: Of whom.\nlet key = 1\n", in: "Store").count == 1)
        #expect(try verdicts(.commentsReadPlainly, "let text = \"// Of a text.\"\n", in: "Store").isEmpty)
        #expect(try verdictsInTests(.commentsReadPlainly, "// Of a test.\n").isEmpty)
    }

    @Test("report a test's name that depends on its suite's, and a name that is too long")
    func testNames() throws {
        func complaints(_ text: String) throws -> [String] { try verdictsInTests(.testNamesStandAlone, text) }
        #expect(try complaints("@Test(\"and keeps it\")\nfunc keeps() {}\n").count == 1)
        #expect(try complaints("@Test(\n    \"keeps the whoever\", .tags(.slow))\nfunc keeps() {}\n").count == 1)
        let long = String(repeating: "word ", count: 10)
        #expect(try complaints("@Suite(\"A \(long)\"\n    + \"\(long)\")\nstruct Tests {}\n").count == 1)
        #expect(
            try complaints("@Suite(\"And so on\")\nstruct Tests {\n    @Test(\"keeps it\") func keeps() {}\n}\n")
                .isEmpty)
        #expect(try complaints("@Suite(.serialized) struct Tests {}\n").isEmpty)
    }

    @Test("report retired words in comments, texts and documentation")
    func retiredWords() throws {
        #expect(try verdicts(.noRetiredWords, "// A twin.\nlet text = \"Whoever asks\"\n", in: "Store").count == 2)
        #expect(try verdicts(.noRetiredWords, "// A twinkle.\n", in: "Store").isEmpty)
    }

    @Test(
        "report retired words and compounds within names",
        arguments: [
            "let routeTwin = 1", "func twinOf() {}", "let TWINRoute = 1", "SELECT twin_id", "let isTwin = true",
            "let toldSeq = 1", "let lastToldSeq = 1", "SELECT told_seq", "struct WatchTurnEnd {}",
        ])
    func retiredNames(sample: String) throws {
        #expect(try verdicts(.noRetiredWords, sample + "\n", in: "Store").count == 1)
    }

    @Test(
        "accept the letters of a retired word in another one, and compounds' words in sentences",
        arguments: [
            "let printableString = 1", "let suspectWindow = 1", "let googleStandIn = 1", "// It leaves some of them.",
            "// A watch turn: the reader is told.", "let told = 1",
        ])
    func otherNames(sample: String) throws {
        #expect(try verdicts(.noRetiredWords, sample + "\n", in: "Store").isEmpty)
    }

}
