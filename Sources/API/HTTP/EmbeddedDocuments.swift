/// What is served as it is; the build puts it into the program.
package enum EmbeddedDocuments {
    /// docs/openapi.yaml
    package static var contract: [UInt8] { PackageResources.openapi_yaml }
}
