import Model
import Postgres

/// Credentials as they were written, in the order asked.
package struct WrittenCredentials: Equatable, Sendable {
    package let records: [CredentialRecord]
    package let mismatches: [TopicMismatch]

    /// - Parameter answers: each row is a credential.
    init(_ answers: some Sequence<ResultSet>, _ mismatches: ResultSet, _ ids: [CredentialID]) throws(PostgresError) {
        var written: [CredentialRecord] = []
        for answer in answers { written += try answer.map(CredentialRecord.init) }
        records = ids.compactMap { id in written.first { $0.id == id } }
        self.mismatches = try mismatches.map(TopicMismatch.init)
    }
}

/// A topic that the app's credentials and its devices do not share. Usually one of the two is misspelt.
package struct TopicMismatch: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// A written credential names the topic, and no device does.
        case withoutDevices
        /// Devices of this environment name the topic, and no active or written credential covers it.
        case withoutCredential(PushEnvironment)
    }

    package let topic: String
    package let kind: Kind

    package init(topic: String, kind: Kind) { (self.topic, self.kind) = (topic, kind) }

    init(_ row: inout Row) throws(PostgresError) {
        topic = try row.text()
        kind =
            try row.int16OrNil().flatMap(PushEnvironment.init(rawValue:)).map { .withoutCredential($0) }
            ?? .withoutDevices
    }
}

extension CredentialStore {
    /// Finds the topics of these credentials that no device names, and those of their environments that none covers.
    static func topicMismatches(_ ids: [CredentialID], _ app: AppID) -> Query {
        Query(CredentialSQL.topicMismatches) {
            $0.int64Array("credentials", ids.map(\.value))
            $0.int64("app", app.value)
        }
    }
}
