import Basis
import Model
import Postgres

/// The numbers stand in the database.
package enum CredentialState: Int16, Sendable {
    /// Stored, and not in use. → active
    case staged = 1
    /// The one credential of its slot. → retired
    case active = 2
    /// Was in use. → active, when a rotation is rolled back
    case retired = 3

    package var name: String {
        switch self {
        case .staged: "staged"
        case .active: "active"
        case .retired: "retired"
        }
    }
}

/// A credential as it is handed in.
package struct NewCredential: Equatable, Sendable {
    /// An id from `CredentialStore.nextIDs`, known before the secret is sealed.
    package var id: CredentialID
    package var app: AppID
    package var provider: Provider
    package var environment: PushEnvironment
    package var kind: CredentialKind
    /// Topics in any order; empty: every topic.
    package var topics: [String]
    /// The whole topics that a certificate covers; a suffix alone stands for registrations without a topic. Empty:
    /// every service of `topics`.
    package var wholeTopics: [String]
    /// A JSON object without anything secret.
    package var facts: [UInt8]
    /// Sealed under the master key before it came here.
    package var sealed: [UInt8]

    package init(
        id: CredentialID, app: AppID, provider: Provider, environment: PushEnvironment, kind: CredentialKind,
        topics: [String], wholeTopics: [String] = [], facts: [UInt8], sealed: [UInt8]
    ) {
        (self.id, self.app, self.provider, self.environment) = (id, app, provider, environment)
        (self.kind, self.topics, self.wholeTopics, self.facts, self.sealed) = (kind, topics, wholeTopics, facts, sealed)
    }

    /// The slot's form: sorted by bytes, each once, so that one set of topics is one slot.
    var slotTopics: [String] {
        var kept: [String] = []
        for topic in topics.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            if let last = kept.last, last.utf8.elementsEqual(topic.utf8) { continue }
            kept.append(topic)
        }
        return kept
    }
}

package struct CredentialRecord: Equatable, Sendable {
    package let id: CredentialID
    /// The first credential of its submission, which has another one for each further environment.
    package let submission: CredentialID
    package let app: AppID
    package let provider: Provider
    package let environment: PushEnvironment
    package let kind: CredentialKind
    package let topics: [String]
    package let facts: [UInt8]
    package let sealed: [UInt8]
    package let state: CredentialState
    package let createdAt: WallInstant
    package let activatedAt: WallInstant?
    package let retiredAt: WallInstant?

    init(_ row: inout Row) throws(PostgresError) {
        (id, submission) = (CredentialID(try row.int64()), CredentialID(try row.int64()))
        app = AppID(try row.int64())
        (provider, environment) = (try row.stored(), try row.stored())
        guard let kind = CredentialKind(rawValue: try row.text()) else {
            throw .unexpectedShape(statement: "credential", column: 5)
        }
        self.kind = kind
        (topics, facts, sealed) = (try row.textArray(), try row.json(), try row.bytes())
        state = try row.stored()
        (createdAt, activatedAt, retiredAt) = (try row.instant(), try row.instantOrNil(), try row.instantOrNil())
    }
}

/// A credential that no process leases for before `until`.
package struct LaneBlock: Equatable, Sendable {
    package let credential: CredentialID
    package let reason: String
    /// The first refusal of those that follow each other.
    package let since: WallInstant
    package let until: WallInstant

    init(_ row: inout Row) throws(PostgresError) {
        credential = CredentialID(try row.int64())
        (reason, since, until) = (try row.text(), try row.instant(), try row.instant())
    }
}

/// The reason why a credential does not work now, for people.
package struct CredentialRefusal: Equatable, Sendable {
    package let credential: CredentialID
    /// The provider's word, or ours if it gave none.
    package let reason: String
    package let since: WallInstant
    /// The provider refused pushes with it. Otherwise it gets no token, or can't be opened.
    package let isByProvider: Bool

    package init(credential: CredentialID, reason: String, since: WallInstant, isByProvider: Bool) {
        (self.credential, self.reason, self.since, self.isByProvider) = (credential, reason, since, isByProvider)
    }

    init(_ row: inout Row) throws(PostgresError) {
        self.init(
            credential: CredentialID(try row.int64()), reason: try row.text(), since: try row.instant(),
            isByProvider: try row.bool())
    }
}

/// A signed provider token in its shared form: sealed under the master key.
package struct SealedProviderToken: Equatable, Sendable {
    package let sealed: [UInt8]
    package let issuedAt: WallInstant
    package init(sealed: [UInt8], issuedAt: WallInstant) { (self.sealed, self.issuedAt) = (sealed, issuedAt) }
}
