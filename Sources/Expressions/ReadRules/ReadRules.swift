import Basis
import JSON

/// An app's rules: who may read which node of its tree.
///
///     {
///       ".read": false,
///       "contacts": {
///         "$uid": {
///           ".read": "auth != null && auth.sub == $uid || data.isPublic == true"
///         }
///       }
///     }
///
/// A node may be read if `.read` holds at it or at any node above it. An expression that fails does not hold.
///
/// - `auth` is null, or the claims of the user's token: `auth.sub`, `auth['first name']`.
/// - `$uid` is the key of the child that has no rules under its own name.
/// - `now` is the time in milliseconds since 1970, as in Firebase's language, which this one follows.
/// - `data` is the data at the rule's node, and `root` at the root: `root.members[auth.sub] == true`. An index names
///   neither of the two.
///
/// A claim is missing if the token has none of this name, or null there, and if there is no user. A comparison with a
/// missing claim, or with data at an index that is one, fails: otherwise a caller without a token would equal the missing
/// owner of a document. Compared with the literal `null`, a missing claim is null.
///
/// A subscription keeps only the claims that the rules named when it was made. What asks for another one fails, beside
/// `null` too, because the token may have had it.
///
/// A member of data that is null, a text, a number or a boolean is null. So is one whose index is no text, is empty or has
/// a slash. `<`, `<=`, `>` and `>=` fail unless they compare two numbers or two texts. `&&`, `||` and `!` fail unless they
/// get booleans; `&&` and `||` evaluate their right side only if it matters. `||` holds if its right side does, even if
/// its left side fails.
package struct ReadRules: Sendable {
    /// The rules of an app without rules: nothing may be read.
    package static let none = ReadRules(nodes: [RuleNode()], claims: .only([]))

    /// The nodes; the first one is the root.
    private let nodes: [RuleNode]
    /// The claims that the rules name. A subscription keeps these.
    package let claims: NamedClaims

    init(nodes: [RuleNode], claims: NamedClaims) {
        precondition(!nodes.isEmpty)
        (self.nodes, self.claims) = (nodes, claims)
    }

    /// Whether the answer may differ from user to user.
    package func namesAuth(at path: [String]) -> Bool {
        let rules = rules(onTheWayTo: path)
        return rules.contains(where: \.namesAuth) && !rules.contains(where: \.isAlwaysTrue)
    }

    /// Whether the answer may change while the rules stay, because it depends on the tree's data or on the time.
    package func mayChange(at path: [String]) -> Bool {
        let rules = rules(onTheWayTo: path)
        return rules.contains { !$0.lookups.isEmpty || $0.namesNow } && !rules.contains(where: \.isAlwaysTrue)
    }

    /// The paths whose values `mayRead` may ask for: different ones, at most `ReadRuleLimits.lookupsMax`.
    ///
    /// Empty if a rule already holds without data. The keys in a path need not be valid keys of the tree, since claims
    /// may be any text; nothing is at such a path.
    package func lookups(at path: [String], auth: UserClaims?, now: WallInstant) -> [[String]] {
        let subject = RuleSubject(path: path, auth: auth, now: now)
        let rules = rules(onTheWayTo: path)
        guard !rules.contains(where: { $0.lookups.isEmpty && subject.fulfils($0) { _ in .null } }) else { return [] }
        var paths: [[String]] = []
        for lookup in rules.flatMap(\.lookups) {
            // An index that fails lets its comparison fail before it asks for the value.
            guard case .path(let path) = try? subject.target(of: lookup) else { continue }
            if !paths.contains(where: { $0.hasSameKeys(as: path) }) { paths.append(path) }
        }
        return paths
    }

    /// - Parameter auth: nil without a user.
    /// - Parameter values: returns the value at a path, which is one of `lookups` with the same arguments. A node with
    ///   children is a structure.
    package func mayRead(
        _ path: [String], auth: UserClaims?, now: WallInstant, values: ([String]) -> RuleValue
    ) -> Bool {
        let subject = RuleSubject(path: path, auth: auth, now: now)
        let rules = rules(onTheWayTo: path)
        // Rules without data come first: `lookups` left out the others' paths if one of these holds.
        return rules.contains { $0.lookups.isEmpty && subject.fulfils($0, values) }
            || rules.contains { !$0.lookups.isEmpty && subject.fulfils($0, values) }
    }

    private func rules(onTheWayTo path: [String]) -> [ReadRule] {
        var node = nodes[0]
        var rules = node.rule.map { [$0] } ?? []
        for key in path {
            guard let child = node.child(key) else { break }
            node = nodes[child]
            if let rule = node.rule { rules.append(rule) }
        }
        return rules
    }
}

/// The rules of a node. Children are places in the list of all nodes.
struct RuleNode: Sendable {
    var rule: ReadRule?
    /// The children with names of their own, sorted by the bytes of these.
    private(set) var named: [(name: String, place: Int)] = []
    /// The child for all other keys.
    var other: Int?

    mutating func setNamed(_ children: [(name: String, place: Int)]) {
        named = children.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Binary search, because rules may name thousands of children.
    func child(_ key: String) -> Int? {
        var candidates = named[...]
        while let middle = candidates.indices.midpoint {
            let child = candidates[middle]
            if child.name.hasSameBytes(as: key) { return child.place }
            let isAfter = child.name.utf8.lexicographicallyPrecedes(key.utf8)
            candidates = isAfter ? candidates[(middle + 1)...] : candidates[..<middle]
        }
        return other
    }
}

extension Range<Int> {
    fileprivate var midpoint: Int? { isEmpty ? nil : lowerBound + count / 2 }
}

extension [String] {
    fileprivate func hasSameKeys(as other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
