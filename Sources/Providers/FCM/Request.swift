import ProviderInterface

/// The parts of a request beside its body. FCM has no header that names a push: the body's `carillon_id` does.
package enum FCMRequest {
    /// Returns the value of `:path`, the same for every push of a project.
    package static func path(of project: FCMProject) -> String { "/v1/projects/\(project.name)/messages:send" }

    /// The headers that all pushes share, beside the access token's `authorization`.
    package static let headers = [PushBatch.SharedField("content-type", "application/json".utf8)]
}
