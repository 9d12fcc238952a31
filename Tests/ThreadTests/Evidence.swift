import Encodings
import Foundation
import Model
import Postgres

/// All evidence after a message has ended: the requests at the peer, the rows, and the client's responses.
struct Evidence {
    struct Registration: Equatable {
        let id: Int64
        let installation: String
        var state: Int
        var badge: Int
    }

    struct Feedback: Equatable {
        let installation: String
        let verdict: Int
    }

    struct Message: Equatable {
        let id: String
        var state: Int
        var audience: Int
        /// In the order of `TerminalState`.
        var outcomes: [Int]
    }

    var devices: [Device]
    var pushes: [SeenPush]
    var registrations: [Registration]
    var feedback: [Feedback]
    var messages: [Message]
    var parcelsLeft: Int
    /// The ids in the `202` responses that reached the client, repeats included.
    var answered: [String]
    /// The message's account in the API at the end.
    var account: Account
    /// How often one push may be repeated: once per gateway death while its answer was not settled.
    var repeatsAllowed: Int
    /// How many pushes may be repeats over all devices; nil: as many as `repeatsAllowed` permits.
    var repeatsAllowedInAll: Int?
    /// The number of messages that were sent, each with a badge increment.
    var messagesSent = 1
}

extension World {
    func evidence(answered: [String], account: Account, repeatsAllowed: Int, messagesSent: Int = 1) async throws
        -> Evidence
    {
        let answers = try await pool.read([
            Query(
                Statement(
                    unprepared: """
                        SELECT r.id, r.installation, r.state, p.badge FROM registrations r
                        JOIN registration_pulse p ON p.registration_id = r.id ORDER BY r.id
                        """)),
            Query(Statement(unprepared: "SELECT installation, verdict FROM feedback ORDER BY id")),
            Query(
                Statement(
                    unprepared: """
                        SELECT id, state, coalesce(audience, -1), accepted, rejected, unregistered, expired, suppressed,
                            cancelled, gave_up FROM messages ORDER BY id
                        """)),
            Query(Statement(unprepared: "SELECT count(*) FROM parcels")),
        ])
        let registrations = try answers[0].map { row throws(PostgresError) in
            Evidence.Registration(
                id: try row.int64(), installation: try row.text(), state: Int(try row.int16()),
                badge: Int(try row.int32()))
        }
        let feedback = try answers[1].map { row throws(PostgresError) in
            Evidence.Feedback(installation: try row.text(), verdict: Int(try row.int16()))
        }
        let messages = try answers[2].map { row throws(PostgresError) in
            var message = Evidence.Message(
                id: try row.uuid().text, state: Int(try row.int16()), audience: Int(try row.int64()), outcomes: [])
            for _ in TerminalState.allCases { message.outcomes.append(Int(try row.int64())) }
            return message
        }
        return Evidence(
            devices: devices, pushes: try pushes(), registrations: registrations, feedback: feedback,
            messages: messages, parcelsLeft: Int(try answers[3].one(Int64.init)), answered: answered, account: account,
            repeatsAllowed: repeatsAllowed, messagesSent: messagesSent)
    }
}
