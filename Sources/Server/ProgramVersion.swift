/// Which release this is: what `carillon --version` says, and the top of CHANGELOG.md.
package enum ProgramVersion {
    package static let current = "0.1.0"
}
