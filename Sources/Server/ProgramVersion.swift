/// The release, as in `carillon --version` and at the top of CHANGELOG.md.
package enum ProgramVersion {
    package static let current = "0.1.0"
}
