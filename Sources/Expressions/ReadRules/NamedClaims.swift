/// The claims that an app's rules name.
package struct NamedClaims: Equatable, Sendable {
    /// A name is computed, so it may be any.
    package static let all = NamedClaims(names: nil)

    /// The names as bytes, because different spellings of a letter are different claims. nil: all. Rules may name thousands.
    private var names: Set<[UInt8]>?  // lookup only

    package static func only(_ names: [String]) -> NamedClaims {
        NamedClaims(names: .init(names.map { Array($0.utf8) }))
    }

    package func contains(_ claim: String) -> Bool { names?.contains(Array(claim.utf8)) ?? true }

    mutating func add(_ name: RuleName) {
        switch name {
        case .computed: names = nil
        case .fixed(let name): names?.insert(Array(name.utf8))
        }
    }
}
