/// One header of a request.
package struct FCMHeader: Equatable, Sendable {
    package let name: [UInt8]
    package let value: [UInt8]
    /// Whether it repeats on a connection often enough to deserve a place in the peer's small header table.
    package let isIndexed: Bool

    init(_ name: String, _ value: String) {
        self.name = Array(name.utf8)
        self.value = Array(value.utf8)
        isIndexed = true
    }
}

/// The parts of a request beside its body. FCM has no header that names a push: the body's `carillon_id` does.
package enum FCMRequest {
    /// Returns the value of `:path`, the same for every push of a project.
    package static func path(of project: FCMProject) -> [UInt8] {
        Array("/v1/projects/\(project.name)/messages:send".utf8)
    }

    /// The headers that all pushes share, beside the access token's `authorization`.
    package static let headers = [FCMHeader("content-type", "application/json")]
}
