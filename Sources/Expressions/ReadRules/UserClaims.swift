import Basis
import JSON

/// The claims of a user, as read rules are asked about them.
package struct UserClaims: Equatable, Sendable {
    /// The claims by their names: an object.
    let claims: JSONValue
    /// Whether these are all claims of the user's token. If not, it may have had others.
    package let areAll: Bool

    private static let subject = "sub"
    /// The most bytes of the names of missing claims that are kept. All claims of a token take a little more.
    private static let missingBytesMax = 2_048
    /// The bytes of a missing claim beside its name, as PostgreSQL writes an object: `: null, `.
    private static let missingBytesEach = 8

    /// All claims of a token.
    package init(ofToken claims: JSONValue) { self.init(claims, areAll: true) }

    /// The claims that a subscription keeps. If they can't be read, none of them is known.
    package init(stored bytes: [UInt8], areAll: Bool) {
        if let claims = try? JSONReader.read(bytes, limits: .trusted) {
            self.init(claims, areAll: areAll)
        } else {
            self.init(.object(JSONObject()), areAll: false)
        }
    }

    private init(_ claims: JSONValue, areAll: Bool) { (self.claims, self.areAll) = (claims, areAll) }

    /// The JSON that a subscription stores.
    package var bytes: [UInt8] { claims.bytes }

    /// The claims that a subscription keeps of a token: `sub`, and those that the rules name.
    ///
    /// One that the token lacks is kept as null, which is missing to the rules too. So it differs from a claim that no
    /// rule named. All claims are kept if a rule computes a name, or if too many are missing.
    package func kept(for names: NamedClaims) -> UserClaims {
        guard areAll, let object = claims.object, let missing = Self.missing(in: object, of: names) else { return self }
        let kept = object.members.filter { $0.name.hasSameBytes(as: Self.subject) || names.contains($0.name) }
        return UserClaims(.object(JSONObject(kept + missing.map { JSONMember($0, .null) })), areAll: false)
    }

    /// nil: all claims are to be kept instead.
    private static func missing(in object: JSONObject, of names: NamedClaims) -> [String]? {
        guard let named = names.names else { return nil }
        let wanted = names.contains(subject) ? named : [subject] + named
        let known = Set(object.members.map { Array($0.name.utf8) })  // lookup only
        var missing: [String] = []
        var bytes = 0
        for name in wanted where !known.contains(Array(name.utf8)) {
            bytes += JSONValue.string(name).bytes.count + missingBytesEach
            guard bytes <= missingBytesMax else { return nil }
            missing.append(name)
        }
        return missing
    }

    /// Whether the claim is known: its value, or that the token has none.
    func knows(_ name: String) -> Bool { areAll || claims.object?[name] != nil }
}
