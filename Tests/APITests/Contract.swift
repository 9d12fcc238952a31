import API
import Documents
import HTTPTypes
import Requests
import Testing

/// The part of docs/openapi.yaml that says which answers an operation may give.
///
/// Relies on the document's layout: one entry per line, two spaces per level, refusals as references.
struct Contract {
    static let current = Contract(String(decoding: EmbeddedDocuments.contract, as: UTF8.self))

    /// The codes of each refusal, by its name under components/responses.
    private(set) var codes: [String: [String]] = [:]
    /// The refusal's name by operation and status; empty if the answer is not a refusal.
    private var operations: [String: [Int: String]] = [:]
    private var withBody: Set<String> = []

    private init(_ text: String) {
        var section: Substring = ""
        var (operation, component) = ("", "")
        for line in text.split(separator: "\n") {
            let depth = line.prefix { $0 == " " }.count
            let entry = line.dropFirst(depth)
            if depth == 0 || (depth == 2 && section.hasPrefix("components")) {
                section = depth == 0 ? entry : "components/" + entry
            }
            switch (section, depth) {
            case ("paths:", 6) where entry.hasPrefix("operationId: "): operation = String(entry.dropFirst(13))
            case ("paths:", 6) where entry == "requestBody:": withBody.insert(operation)
            case ("paths:", 8):
                guard let status = entry.wholeMatch(of: /"(\d{3})":.*?(?:responses\/(\w+)" \})?/) else { continue }
                operations[operation, default: [:]][Int(status.1) ?? 0] = status.2.map(String.init) ?? ""
            case ("components/responses:", 4): component = String(entry.dropLast())
            case ("components/responses:", 5...):
                guard let code = entry.wholeMatch(of: /- ([a-z0-9_]+)/) else { continue }
                codes[component, default: []].append(String(code.1))
            default: continue
            }
        }
    }

    func answers(of endpoint: Endpoint) -> [Int: String] { operations[endpoint.name] ?? [:] }

    func takesBody(_ endpoint: Endpoint) -> Bool { withBody.contains(endpoint.name) }

    /// Checks that the contract allows this answer.
    func check(_ method: String, _ path: String, _ reply: WireReply, _ sourceLocation: SourceLocation) {
        let code = reply.status < 400 ? nil : (try? reply.member("code"))?.string
        guard let endpoint = Self.endpoint(method, path) else {
            let known = ["malformed_path", "not_found", "method_not_allowed", "route_not_supported"]
            #expect(
                code.map(known.contains) == true, "matches no operation: \(reply.text)", sourceLocation: sourceLocation)
            return
        }
        guard let refusal = answers(of: endpoint)[reply.status] else {
            Issue.record(
                "\(endpoint.name) answers \(reply.status), which the contract lacks", sourceLocation: sourceLocation)
            return
        }
        if case .statuses = endpoint.refusals, reply.status >= 400 {
            let members = (try? reply.json())?.members ?? []
            #expect(
                members.count == 1 && members[0].name == "status" && members[0].value.string != nil, "\(reply.text)",
                sourceLocation: sourceLocation)
            return
        }
        #expect(
            refusal.isEmpty == (reply.status < 400), "\(endpoint.name), \(reply.status)", sourceLocation: sourceLocation
        )
        guard let code else { return }
        #expect(
            codes[refusal]?.contains(code) == true, "\(endpoint.name) answers \(code), which the contract lacks",
            sourceLocation: sourceLocation)
    }

    private static func endpoint(_ method: String, _ path: String) -> Endpoint? {
        guard let method = HTTPRequest.Method(method), let target = try? RequestTarget(path) else { return nil }
        return try? EndpointTable.match(method, target.segments).endpoint
    }
}
