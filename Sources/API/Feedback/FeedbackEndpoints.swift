extension Endpoint {
    static let feedback: [Endpoint] = [
        Endpoint("readFeedback", .get, "/v1/apps/{app}/feedback", .scope(.feedback), query: ["after", "limit"]) {
            try await $0.feedback.read($1)
        },
        Endpoint("undoFeedback", .post, "/v1/apps/{app}/feedback/{feedback}/undo", .scope(.feedback)) {
            try await $0.feedback.undo($1)
        },
    ]
}
