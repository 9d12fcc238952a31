import Model

extension Endpoint {
    static let messages: [Endpoint] = [
        // The audience in the body decides which of the two scopes a request needs.
        Endpoint(
            "sendMessage", .post, "/v1/apps/{app}/messages",
            .scopes(
                senders,
                refusal: "This key can't send messages. Sending needs the scope \"messages\" (to named installations, "
                    + "users and tokens) or \"broadcast\" (to all, tags, a filter). Use a key that has it, or create "
                    + "one: POST .../keys."),
            body: .json, announcing: .messageAnswered
        ) { try await $0.messages.send($1) },
        Endpoint(
            "countAudience", .post, "/v1/apps/{app}/audience", .scopes(senders), body: .json, isRead: true
        ) { try await $0.messages.countAudience($1) },
        Endpoint(
            "listMessages", .get, "/v1/apps/{app}/messages", .scopes(senders), query: ["state", "cursor", "limit"]
        ) { try await $0.messages.list($1) },
        Endpoint("readMessage", .get, "/v1/apps/{app}/messages/{message}", .scopes(senders)) {
            try await $0.messages.read($1)
        },
        Endpoint("changeMessage", .patch, "/v1/apps/{app}/messages/{message}", .scopes(senders), body: .json) {
            try await $0.messages.changeMessage($1)
        },
        Endpoint("followMessage", .get, "/v1/apps/{app}/messages/{message}/events", .scopes(senders)) {
            try await $0.events.follow($1)
        },
        Endpoint(
            "listFailures", .get, "/v1/apps/{app}/messages/{message}/failures", .scopes(senders),
            query: ["cursor", "limit", "state", "reason"]
        ) { try await $0.messages.failures($1) },
        Endpoint("readPush", .get, "/v1/apps/{app}/messages/{message}/devices/{installation}", .scopes(senders)) {
            try await $0.messages.pushHistory($1)
        },
        Endpoint("pauseMessage", .post, "/v1/apps/{app}/messages/{message}/pause", .scopes(senders)) {
            try await $0.messages.change(.pause, $1)
        },
        Endpoint("resumeMessage", .post, "/v1/apps/{app}/messages/{message}/resume", .scopes(senders)) {
            try await $0.messages.change(.resume, $1)
        },
        Endpoint("duplicateMessage", .post, "/v1/apps/{app}/messages/{message}/duplicate", .scopes(senders)) {
            try await $0.messages.duplicate($1)
        },
        Endpoint("cancelMessage", .post, "/v1/apps/{app}/messages/{message}/cancel", .scopes(senders)) {
            try await $0.messages.change(.cancel, $1)
        },
    ]

    private static let senders: [APIScope] = [.messages, .broadcast]
}
