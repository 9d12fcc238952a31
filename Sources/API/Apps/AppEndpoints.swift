extension Endpoint {
    static let apps: [Endpoint] = [
        Endpoint("createApp", .post, "/v1/apps", .scope(.admin), body: .json) { try await $0.apps.create($1) },
        Endpoint("listApps", .get, "/v1/apps", .scope(.admin), query: ["cursor", "limit"]) {
            try await $0.apps.list($1)
        },
        Endpoint("readApp", .get, "/v1/apps/{app}", .anyKey) { try await $0.apps.read($1) },
        Endpoint("changeApp", .patch, "/v1/apps/{app}", .scope(.admin), body: .json) { try await $0.apps.change($1) },
        Endpoint("deleteApp", .delete, "/v1/apps/{app}", .scope(.admin)) { try await $0.apps.delete($1) },
    ]
}
