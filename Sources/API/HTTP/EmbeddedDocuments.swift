/// Documents that are served unchanged. The build embeds them in the program.
package enum EmbeddedDocuments {
    /// docs/openapi.yaml
    package static var contract: [UInt8] { PackageResources.openapi_yaml }
    /// docs/errors.md
    package static var errors: [UInt8] { PackageResources.errors_md }
}
