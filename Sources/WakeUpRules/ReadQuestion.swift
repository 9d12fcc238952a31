import Basis
import Expressions

/// The question which subjects may read their paths. The caller reads the data at `paths` between the two steps.
package struct ReadQuestion: Sendable {
    package struct Subject: Sendable {
        package let path: NodePath
        /// The claims of the user; nil: there is none.
        package let auth: UserClaims?

        package init(path: NodePath, auth: UserClaims?) { (self.path, self.auth) = (path, auth) }
    }

    private let subjects: [(keys: [String], auth: UserClaims?)]
    private let rules: ReadRules
    private let now: WallInstant
    /// The paths whose values the rules look up, each once, in their order.
    package let paths: [NodePath]

    package init(_ subjects: [Subject], _ rules: ReadRules, now: WallInstant) {
        (self.rules, self.now) = (rules, now)
        self.subjects = subjects.map { ($0.path.keys, $0.auth) }
        let lookups = self.subjects.flatMap { rules.lookups(at: $0.keys, auth: $0.auth, now: now) }
        // Claims may be any text. At a path that can't be in a tree there is nothing.
        paths = lookups.compactMap { try? NodePath($0) }.sorted().reduce(into: [NodePath]()) { paths, path in
            if paths.last != path { paths.append(path) }
        }
    }

    /// Returns for each subject whether it may read its path.
    /// - Parameter values: one for each of `paths`, in their order.
    package func answers(_ values: [RuleValue]) -> [Bool] {
        var known: [NodePath: RuleValue] = [:]  // lookup only
        for (path, value) in zip(paths, values) { known[path] = value }
        return subjects.map { subject in
            rules.mayRead(subject.keys, auth: subject.auth, now: now) { keys in
                (try? NodePath(keys)).flatMap { known[$0] } ?? .null
            }
        }
    }
}
