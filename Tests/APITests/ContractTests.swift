import API
import Content
import Documents
import Listener
import Model
import Requests
import Testing

@Suite("The OpenAPI contract")
struct ContractTests {
    /// Methods and paths of the document, which has one line per path and one per method.
    private static var described: [String] {
        var described: [String] = []
        var path = ""
        var isInPaths = false
        for line in String(decoding: EmbeddedDocuments.contract, as: UTF8.self).split(separator: "\n") {
            if !line.hasPrefix(" ") { isInPaths = line == "paths:" }
            guard isInPaths else { continue }
            if line.hasPrefix("  /") { path = String(line.dropFirst(2).dropLast()) }
            for method in ["get", "put", "post", "delete", "patch"] where line == "    \(method):" {
                described.append("\(method.uppercased()) \(path)")
            }
        }
        return described.sorted()
    }

    @Test("describes every endpoint, and no other")
    func everyEndpoint() {
        #expect(Self.described == Endpoint.all.map(\.testDescription).sorted())
    }

    @Test("names every operation as the program does")
    func operationNames() {
        let text = String(decoding: EmbeddedDocuments.contract, as: UTF8.self)
        for endpoint in Endpoint.all {
            #expect(text.contains("operationId: \(endpoint.name)\n"), "\(endpoint.name)")
        }
    }

    @Test("refers only to components that it defines")
    func references() {
        let text = String(decoding: EmbeddedDocuments.contract, as: UTF8.self)
        for match in text.matches(of: /#\/components\/[a-zA-Z]+\/([a-zA-Z]+)/) {
            #expect(text.contains("\n    \(match.1):"), "\(match.1)")
        }
    }

    @Test("lists every problem code under its status, each once")
    func codes() {
        let listed = Contract.current.codes.flatMap(\.value)
        // Codes that no operation lists: no route matched, a line of an import failed, or HTTP itself is the reason.
        let apart: Set<ProblemCode> = [
            .notFound, .methodNotAllowed, .routeNotSupported, .lineTooLong, .lineNotRising, .expectationFailed,
        ]
        #expect(listed.sorted() == ProblemCode.allCases.filter { !apart.contains($0) }.map(\.rawValue).sorted())
        for endpoint in Endpoint.all {
            for (status, refusal) in Contract.current.answers(of: endpoint) {
                for code in Contract.current.codes[refusal] ?? [] {
                    #expect(ProblemCode(rawValue: code)?.status == status, "\(endpoint.name), \(code)")
                }
            }
        }
    }

    private static func message(_ members: String) -> String { #"{"audience": {"all": true}, \#(members)}"# }

    private static let lengths = [
        ("InstallationName", RegistrationLimits.installationBytesMax, #"{"audience": {"installations": ["TEXT"]}}"#),
        ("UserName", ProfileField.user.bytesMax, #"{"audience": {"users": ["TEXT"]}}"#),
        ("Tag", RegistrationLimits.tagBytesMax, #"{"audience": {"tags": {"any": ["TEXT"]}}}"#),
        ("Address", NotificationAddress.bytesMax, message(#""notification": {"title": "a", "link": "a:TEXT"}"#)),
        ("PresentationID", GivenNotification.idBytesMax, message(#""notification": {"title": "a", "thread": "TEXT"}"#)),
    ]

    @Test("gives the lengths of texts as they are enforced: in bytes of UTF-8", arguments: 0..<lengths.count)
    func length(place: Int) throws {
        let (schema, bytesMax, body) = Self.lengths[place]
        let contract = String(decoding: EmbeddedDocuments.contract, as: UTF8.self)
        let lines = try Regex("\n    \(schema):\n(?:      .*\n)+", as: Substring.self)
        let section = try #require(contract.firstMatch(of: lines)).output
        let number = bytesMax < 1_000 ? "\(bytesMax)" : "\(bytesMax / 1_000),0\(bytesMax % 1_000)"
        #expect(section.contains("\(number) bytes of UTF-8") && !section.contains("maxLength"))
        func read(_ text: String) throws(Problem) -> MessageRequest {
            try MessageRequest.read(Array(body.replacing("TEXT", with: text).utf8))
        }
        let longest = String(repeating: "é", count: bytesMax / 2 - 1)
        _ = try read(longest)
        #expect(refusal { () throws(Problem) in try read(longest + "éé") } != nil)
    }

    @Test("matches the answers of every endpoint to bad requests")
    func anyRequest() async throws {
        var limits = GatewayLimits()
        limits.bodyBytesMax = 1_000
        try await withGateway(limits: limits) { world in
            try await world.makeApp()
            for endpoint in Endpoint.all {
                if case .problems = endpoint.refusals { try await Self.askOddly(endpoint, world) }
            }
        }
    }

    private static func askOddly(_ endpoint: Endpoint, _ world: GatewayWorld) async throws {
        func path(_ app: String, installation: String = "phone") -> String {
            endpoint.template.replacing("{app}", with: app).replacing("{installation}", with: installation)
                .replacing("{message}", with: "0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6")
                .replacing("{credential}", with: "1").replacing("{feedback}", with: "1")
                .replacing("{user}", with: "ann").replacing("{subscription}", with: "1")
                .replacing("{item}", with: "anduct")
        }
        let method = endpoint.method.rawValue
        try await world.refuse(.invalidQuery, method, path("tower") + "?nonsense=1")
        try await world.refuse(.invalidIdempotencyKey, method, path("tower"), headers: ["Idempotency-Key: a b"])
        if endpoint.method != .get {
            for header in [#"If-Match: "old""#, "if-none-match: *", "If-Unmodified-Since: never"] {
                try await world.refuse(.preconditionNotSupported, method, path("tower"), headers: [header])
            }
        }
        let isForKeys = endpoint.access != .open && endpoint.access != .reader(.nodes)
        if isForKeys { #expect(try await world.call(method, path("tower"), key: nil).status == 401) }
        // `GatewayWorld` compares each answer with the contract; these calls only produce many answers.
        let long = String(repeating: "x", count: 300)
        for path in [path("tower"), path("nobody"), path("No Slug"), path("tower", installation: long)] {
            for body in ["", "{}", "[", String(repeating: " ", count: 1_001)] {
                _ = try await world.call(method, path.replacing(" ", with: "%20"), body)
            }
        }
    }

    @Test("matches the answers of every endpoint while the database is unreachable", arguments: Endpoint.all)
    func noDatabase(endpoint: Endpoint) async throws {
        try await withGateway(database: try await GatewayDatabase.missing(), pool: .impatient) { world in
            let path = endpoint.template.replacing("{", with: "").replacing("}", with: "")
            _ = try await world.call(endpoint.method.rawValue, path, "{}")
        }
    }
}
