import API
import HTTPTypes
import Logging
import Requests
import Testing

@Suite("The endpoint table")
struct RouteTests {
    private static func match(_ method: String, _ path: String) throws(Problem) -> EndpointMatch {
        try EndpointTable.match(HTTPRequest.Method(method) ?? .trace, try RequestTarget(path).segments)
    }

    @Test("matches every template to its endpoint, with the names in order", arguments: Endpoint.all)
    func everyEndpoint(endpoint: Endpoint) throws {
        let match = try Self.match(endpoint.method.rawValue, endpoint.template)
        #expect(match.endpoint === endpoint)
        let parameters = endpoint.template.split(separator: "/").filter { $0.hasPrefix("{") }
        #expect(match.names == parameters.map { $0.hasPrefix("{path}") ? "{path}" : String($0) })
    }

    @Test("serves HEAD wherever GET is served")
    func head() throws {
        #expect(try Self.match("HEAD", "/v1/apps/a").endpoint.name == "readApp")
    }

    @Test("distinguishes an installation named import from the import endpoint")
    func importByMethod() throws {
        #expect(try Self.match("PUT", "/v1/apps/a/devices/import").names == ["a", "import"])
        #expect(try Self.match("POST", "/v1/apps/a/devices/import").endpoint.name == "importDevices")
        #expect(try Self.match("POST", "/v1/apps/a/devices/%69mport").endpoint.name == "importDevices")
    }

    @Test("decodes slashes in a name after matching")
    func slashInName() throws {
        let match = try Self.match("GET", "/v1/apps/a/devices/b%2Fbadge/badge")
        #expect(match.endpoint.name == "readBadge")
        #expect(match.names == ["a", "b/badge"])
    }

    @Test(
        "matches no other path",
        arguments: [
            "//", "/v1", "/v1/", "/v1/apps/", "//v1/apps", "/V1/apps", "/v2/apps", "/v1/apps//devices/i",
            "/v1/apps/a/users", "/v1/apps/a/devices/", "/v1/apps/a/devices/i/badge/",
            "/v1/apps/a/devices/i/badges",
            "/healthz/", "/v1%2Fapps", "/v1/apps/a/messages/1/2/3", "/metric",
        ])
    func unknown(path: String) {
        #expect(refusal { () throws(Problem) in try Self.match("GET", path) }?.code == .notFound)
    }

    @Test(
        "says that a planned endpoint is not served yet, and what to do meanwhile", arguments: PlannedEndpoint.all)
    func planned(endpoint: PlannedEndpoint) {
        let path = endpoint.template.replacing("{", with: "").replacing("}", with: "")
        let problem = refusal { () throws(Problem) in try Self.match(endpoint.method.rawValue, path) }
        #expect(problem?.code == .routeNotSupported)
        #expect((problem?.detail.split(separator: " ").count ?? 0) > 10)
        #expect(!Endpoint.all.contains { $0.method == endpoint.method && $0.template == endpoint.template })
    }

    @Test(
        "lists the methods that a path allows",
        arguments: [
            ("POST", "/healthz", "GET, HEAD"), ("DELETE", "/v1/apps", "GET, HEAD, POST"),
            ("POST", "/v1/apps/a/devices/i", "DELETE, GET, HEAD, PATCH, PUT"),
            ("OPTIONS", "/v1/apps/a/devices/import", "DELETE, GET, HEAD, PATCH, POST, PUT"),
            ("GET", "/v1/apps/a/credentials/1/activate", "POST"),
            ("PROPFIND", "/v1/apps/a", "DELETE, GET, HEAD, PATCH"),
            ("DELETE", "/v1/apps/a/messages/1", "GET, HEAD, PATCH"),
            ("get", "/v1/apps/a", "DELETE, GET, HEAD, PATCH"),
        ])
    func wrongMethod(method: String, path: String, allow: String) {
        let problem = refusal { () throws(Problem) in try Self.match(method, path) }
        #expect(problem?.code == .methodNotAllowed)
        #expect(problem?.allow == allow)
    }

    @Test("takes a body exactly where the contract has one", arguments: Endpoint.all)
    func bodies(endpoint: Endpoint) {
        #expect(endpoint.takesBody == Contract.current.takesBody(endpoint))
    }

    @Test("takes exactly the query parameters of the contract", arguments: Endpoint.all)
    func queries(endpoint: Endpoint) {
        #expect(endpoint.query.sorted() == ContractQueries.current.names(of: endpoint).sorted())
    }

    @Test("gives each endpoint its own name and path")
    func names() {
        #expect(Set(Endpoint.all.map(\.name)).count == Endpoint.all.count)
        #expect(Set(Endpoint.all.map(\.testDescription)).count == Endpoint.all.count)
    }

    @Test("requires a key everywhere except for probes, documents and wake-up subscriptions")
    func open() {
        #expect(
            Endpoint.all.filter { $0.access == .open }.map(\.name) == [
                "describeGateway", "checkHealth", "checkReadiness", "readContract", "listErrors", "subscribe",
                "subscribeToRoot", "unsubscribe",
                "unsubscribeFromRoot",
            ])
    }

    @Test("logs internal errors as errors, and an unready answer to the readiness check as debug")
    func logged() {
        let (broken, unready) = (Problem(.internalError, ""), Problem(.notReady, ""))
        #expect(Endpoint.all.allSatisfy { broken.logLevel(on: $0) == .error })
        #expect(Endpoint.all.filter { unready.logLevel(on: $0) != .warning }.map(\.name) == ["checkReadiness"])
        #expect(unready.logLevel(on: .named("checkReadiness")) == .debug && unready.logLevel(on: nil) == .warning)
        #expect(Problem(.unknownMessage, "").logLevel(on: nil) == .debug)
    }
}

extension Endpoint: CustomTestStringConvertible {
    public var testDescription: String { "\(method.rawValue) \(template)" }

    var takesBody: Bool { body != .none }

    static func named(_ name: String) -> Endpoint {
        guard let endpoint = all.first(where: { $0.name == name }) else { preconditionFailure("no endpoint \(name)") }
        return endpoint
    }
}
