extension Endpoint {
    static let credentials: [Endpoint] = [
        Endpoint("listCredentials", .get, "/v1/apps/{app}/credentials", .scope(.credentials)) {
            try await $0.credentials.list($1)
        },
        Endpoint("submitCredential", .post, "/v1/apps/{app}/credentials", .scope(.credentials), body: .json) {
            try await $0.credentials.submit($1)
        },
        Endpoint(
            "activateCredential", .post, "/v1/apps/{app}/credentials/{credential}/activate", .scope(.credentials),
            body: .json
        ) { try await $0.credentials.activate($1) },
        Endpoint(
            "retireCredential", .post, "/v1/apps/{app}/credentials/{credential}/retire", .scope(.credentials),
            body: .json
        ) { try await $0.credentials.retire($1) },
        Endpoint("deleteCredential", .delete, "/v1/apps/{app}/credentials/{credential}", .scope(.credentials)) {
            try await $0.credentials.delete($1)
        },
    ]
}

extension PlannedEndpoint {
    static let plannedCredentials: [PlannedEndpoint] = [
        PlannedEndpoint(
            .post, "/v1/apps/{app}/credentials/{credential}/verify",
            "A credential is checked when it is added, and again by each push: run carillon doctor for its state."),
        PlannedEndpoint(
            .post, "/v1/apps/{app}/credentials/{credential}/rollback",
            "Activate the previous credential: POST .../credentials/{id}/activate."),
    ]
}
