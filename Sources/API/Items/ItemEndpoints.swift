extension Endpoint {
    /// Updates of an app's items, which its backend sends.
    static let items: [Endpoint] = [
        Endpoint("postUpdate", .post, "/v1/apps/{app}/items/{item}/updates", .scope(.nodes), body: .json) {
            try await $0.items.update($1)
        },
        Endpoint(
            "postUpdates", .post, "/v1/apps/{app}/updates", .scope(.nodes), query: ["producer"], body: .lines
        ) { try await $0.items.updates($1) },
    ]

    /// The subscriptions of a device to items.
    static let itemSubscriptions: [Endpoint] = [
        Endpoint(
            "listItemSubscriptions", .get, ofDevice, .owner(.devices), query: ["status", "cursor", "limit"]
        ) { try await $0.itemSubscriptions.list($1) },
        Endpoint("activateItemSubscription", .post, ofDevice, .owner(.devices), body: .json) {
            try await $0.itemSubscriptions.activate($1)
        },
        Endpoint("deactivateItemSubscriptions", .delete, ofDevice, .owner(.devices), query: ["status"]) {
            try await $0.itemSubscriptions.deactivateAll($1)
        },
        Endpoint("readItemSubscription", .get, ofDevice + "/{key}", .owner(.devices)) {
            try await $0.itemSubscriptions.read($1)
        },
        Endpoint("modifyItemSubscription", .patch, ofDevice + "/{key}", .owner(.devices), body: .json) {
            try await $0.itemSubscriptions.modify($1)
        },
        Endpoint("deactivateItemSubscription", .delete, ofDevice + "/{key}", .owner(.devices)) {
            try await $0.itemSubscriptions.deactivate($1)
        },
        Endpoint("reactivateItemSubscription", .post, ofDevice + "/{key}/reactivate", .owner(.devices)) {
            try await $0.itemSubscriptions.reactivate($1)
        },
    ]

    private static let ofDevice = "/v1/apps/{app}/devices/{installation}/subscriptions"
}
