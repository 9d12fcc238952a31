extension Endpoint {
    static let keys: [Endpoint] = [
        Endpoint("listKeys", .get, "/v1/apps/{app}/keys", .scope(.keys), query: ["cursor", "limit"]) {
            try await $0.keys.list($1)
        },
        Endpoint("createKey", .post, "/v1/apps/{app}/keys", .scope(.keys), body: .json) {
            try await $0.keys.create($1)
        },
        Endpoint("deleteKey", .delete, "/v1/apps/{app}/keys/{key}", .scope(.keys)) { try await $0.keys.delete($1) },
        Endpoint("listGlobalKeys", .get, "/v1/keys", .scope(.keys), query: ["cursor", "limit"]) {
            try await $0.keys.list($1)
        },
        Endpoint("createGlobalKey", .post, "/v1/keys", .scope(.keys), body: .json) { try await $0.keys.create($1) },
        Endpoint("deleteGlobalKey", .delete, "/v1/keys/{key}", .scope(.keys)) { try await $0.keys.delete($1) },
    ]
}
