extension Endpoint {
    static let nodes: [Endpoint] = [
        Endpoint(
            "readNode", .get, "/base/{app}/{path}.json", .reader(.nodes), query: ["shallow", "limit", "after"]
        ) { try await $0.nodes.read($1) },
        Endpoint("replaceNode", .put, "/base/{app}/{path}.json", .scope(.nodes), body: .json) {
            try await $0.nodes.replace($1)
        },
        Endpoint("patchNode", .patch, "/base/{app}/{path}.json", .scope(.nodes), body: .json) {
            try await $0.nodes.patch($1)
        },
        Endpoint("removeNode", .delete, "/base/{app}/{path}.json", .scope(.nodes)) { try await $0.nodes.remove($1) },
    ]
}
