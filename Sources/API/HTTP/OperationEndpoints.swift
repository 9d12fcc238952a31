import Documents
import Requests

extension Endpoint {
    static let operation: [Endpoint] = [
        Endpoint("describeGateway", .get, "/", .open) { _, _ in
            Answer(.ok, Array(rootText.utf8), contentType: "text/plain; charset=utf-8")
        },
        Endpoint("checkHealth", .get, "/healthz", .open) { _, _ in Answer(.ok, HealthAnswer.alive) },
        Endpoint("checkReadiness", .get, "/readyz", .open, isProbe: true) { resources, _ in
            try await resources.readiness()
        },
        Endpoint("readContract", .get, "/openapi.yaml", .open) { _, _ in
            Answer(.ok, EmbeddedDocuments.contract, contentType: "application/yaml")
        },
        Endpoint("listErrors", .get, "/errors", .open) { _, _ in
            Answer(.ok, ErrorPage.bytes, contentType: "text/markdown; charset=utf-8")
        },
    ]

    /// It has no version: nobody without a key is told which one runs.
    package static let rootText = """
        Carillon, a push gateway.

        API: /openapi.yaml
        Errors: /errors
        Health: /healthz and /readyz
        """ + "\n"
}

extension PlannedEndpoint {
    static let plannedOperation: [PlannedEndpoint] = [
        PlannedEndpoint(
            .get, "/metrics",
            "/readyz shows whether the process serves requests, GET .../messages/{id} shows a message's progress."),
        PlannedEndpoint(
            .get, "/v1/audit",
            "GET .../keys and GET .../credentials show when each was created, and when a key was last used."),
    ]

    static let plannedWebhooks: [PlannedEndpoint] = [
        PlannedEndpoint(.get, "/v1/apps/{app}/webhooks", feedInstead),
        PlannedEndpoint(.post, "/v1/apps/{app}/webhooks", feedInstead),
        PlannedEndpoint(.delete, "/v1/apps/{app}/webhooks/{webhook}", feedInstead),
    ]

    private static let feedInstead = "Read the feed instead: GET .../feedback, with the cursor of the previous page."
}

extension Resources {
    func readiness() async throws(Problem) -> Answer {
        let sentence: String
        switch await checkReadiness() {
        case .ready: return Answer(.ok, HealthAnswer.ready)
        case .databaseUnreachable: sentence = "The database can't be reached."
        case .databaseImpaired(let condition): throw Problem(condition)
        case .stopping: sentence = "This process is stopping."
        }
        throw Problem(.notReady, sentence, retryAfterSeconds: RetryHint.databaseUnavailable)
    }
}
