extension Endpoint {
    /// Wake-up as an app's operator sees it.
    static let subscriptions: [Endpoint] = [
        Endpoint("readWakeUp", .get, "/v1/apps/{app}/wakeup", .scope(.nodes)) { try await $0.subscriptions.count($1) },
        Endpoint(
            "listSubscriptions", .get, "/v1/apps/{app}/wakeup/subscriptions", .scope(.nodes),
            query: ["path", "installation", "user", "state", "cursor", "limit"]
        ) { try await $0.subscriptions.list($1) },
        Endpoint(
            "revokeSubscriptions", .delete, "/v1/apps/{app}/wakeup/subscriptions", .scope(.nodes),
            query: ["path", "state"]
        ) { try await $0.subscriptions.revokeAll($1) },
        Endpoint(
            "readSubscription", .get, "/v1/apps/{app}/wakeup/subscriptions/{subscription}", .scope(.nodes)
        ) { try await $0.subscriptions.read($1) },
        Endpoint(
            "revokeSubscription", .delete, "/v1/apps/{app}/wakeup/subscriptions/{subscription}", .scope(.nodes)
        ) { try await $0.subscriptions.revoke($1) },
    ]
}
