/// Documents that are served unchanged. The build embeds them in the program.
package enum EmbeddedDocuments {
    /// docs/openapi.yaml
    package static var contract: [UInt8] { PackageResources.openapi_yaml }
}
