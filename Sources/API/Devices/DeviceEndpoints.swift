extension Endpoint {
    static let devices: [Endpoint] = [
        Endpoint(
            "listDevices", .get, "/v1/apps/{app}/devices", .scope(.devices),
            query: ["user", "tag", "provider", "state", "kind", "stale", "filter", "cursor", "limit"]
        ) { try await $0.devices.list($1) },
        Endpoint("registerToken", .post, "/v1/apps/{app}/devices", .scope(.devices), body: .json) {
            try await $0.devices.registerToken($1)
        },
        registerDevice,
        Endpoint(
            "readDevice", .get, "/v1/apps/{app}/devices/{installation}", .scope(.devices), query: ["kind"]
        ) { try await $0.devices.read($1) },
        Endpoint(
            "patchDevice", .patch, "/v1/apps/{app}/devices/{installation}", .scope(.devices), query: ["kind"],
            body: .json
        ) { try await $0.devices.patch($1) },
        Endpoint(
            "removeDevice", .delete, "/v1/apps/{app}/devices/{installation}", .owner(.devices), query: ["kind"]
        ) { try await $0.devices.remove($1) },
        Endpoint(
            "lookUpDevices", .post, "/v1/apps/{app}/devices/lookup", .scope(.devices), body: .json, isRead: true
        ) { try await $0.devices.lookUp($1) },
        Endpoint("importDevices", .post, "/v1/apps/{app}/devices/import", .scope(.devices), body: .lines) {
            try await $0.imports.run($1)
        },
        Endpoint("eraseUser", .delete, "/v1/apps/{app}/users/{user}", .scope(.devices)) {
            try await $0.devices.eraseUser($1)
        },
    ]

    /// `RequestShortcut` answers most of these requests without a task. It leaves those of users to the handler.
    static let registerDevice = Endpoint(
        "registerDevice", .put, "/v1/apps/{app}/devices/{installation}", .owner(.devices), body: .json
    ) { try await $0.devices.register($1) }

    static let badges: [Endpoint] = [
        Endpoint(
            "readBadge", .get, "/v1/apps/{app}/devices/{installation}/badge", .scope(.devices), query: ["kind"]
        ) { try await $0.devices.readBadge($1) },
        Endpoint(
            "setBadge", .put, "/v1/apps/{app}/devices/{installation}/badge", .owner(.devices), query: ["kind"],
            body: .json
        ) { try await $0.devices.setBadge($1) },
        Endpoint(
            "consumeBadge", .post, "/v1/apps/{app}/devices/{installation}/badge/consume", .scope(.devices),
            query: ["kind"], body: .json
        ) { try await $0.devices.consumeBadge($1) },
        Endpoint(
            "setBadgeOfUser", .put, "/v1/apps/{app}/users/{user}/badge", .scope(.devices), query: ["kind"], body: .json
        ) { try await $0.devices.setBadgeOfUser($1) },
        Endpoint("changeBadgeOfToken", .post, "/v1/apps/{app}/badges", .scope(.devices), body: .json) {
            try await $0.devices.changeBadgeOfToken($1)
        },
    ]
}
