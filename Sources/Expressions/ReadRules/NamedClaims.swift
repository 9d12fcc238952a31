/// The claims that an app's rules name.
package struct NamedClaims: Equatable, Sendable {
    /// A name is computed, so it may be any.
    package static let all = NamedClaims(names: nil)

    /// The different names, in the order in which they first appear. nil: all.
    private(set) var names: [String]?
    /// The names as bytes, because different spellings of a letter are different claims. Rules may name thousands.
    private var known: Set<[UInt8]> = []  // lookup only

    private init(names: [String]?) { self.names = names }

    package static func only(_ names: [String]) -> NamedClaims {
        var claims = NamedClaims(names: [])
        for name in names { claims.add(.fixed(name)) }
        return claims
    }

    package static func == (left: NamedClaims, right: NamedClaims) -> Bool {
        (left.names == nil) == (right.names == nil) && left.known == right.known
    }

    package func contains(_ claim: String) -> Bool { names == nil || known.contains(Array(claim.utf8)) }

    mutating func add(_ name: RuleName) {
        switch name {
        case .computed: (names, known) = (nil, [])
        case .fixed(let name):
            guard names != nil, known.insert(Array(name.utf8)).inserted else { return }
            names?.append(name)
        }
    }
}
