import HTTPTypes

extension Endpoint {
    /// The described service's first interface, for apps on devices. It has neither keys nor problems.
    static let wakeUps: [Endpoint] = [
        subscribing("subscribe", .put, "/base/{app}/.wakeup/{path}") { try await $0.wakeUps.subscribe($1) },
        subscribing("subscribeToRoot", .put, "/base/{app}/.wakeup") { try await $0.wakeUps.subscribe($1) },
        subscribing("unsubscribe", .delete, "/base/{app}/.wakeup/{path}") { try await $0.wakeUps.unsubscribe($1) },
        subscribing("unsubscribeFromRoot", .delete, "/base/{app}/.wakeup") { try await $0.wakeUps.unsubscribe($1) },
    ]

    private static func subscribing(
        _ name: String, _ method: HTTPRequest.Method, _ template: String,
        handler: @escaping @Sendable (Resources, Call) async throws -> Answer
    ) -> Endpoint {
        Endpoint(name, method, template, .open, query: ["id", "token", "mode"], refusals: .statuses, handler: handler)
    }
}
