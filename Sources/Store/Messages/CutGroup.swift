import Basis
import Model
import Postgres

/// Direct messages that one transaction cuts: it finds their members, and hands them to a `MessageWriter`.
struct CutGroup: Sendable {
    private let messages: [CutMessage]
    private let order: CutOrder
    private let now: WallInstant?
    private(set) var replies: [CutReply] = []
    /// The queries for members that end early, and for inline targets.
    private var others: [Query] = []
    /// The messages that this transaction writes.
    private var drafts: [MessageDraft] = []
    private var hasLimits = false

    init(_ messages: [CutMessage], _ order: CutOrder, now: WallInstant?) {
        (self.messages, self.order, self.now) = (messages, order, now)
    }

    /// Whether the transaction has something to write, for messages that were all checked for the right providers.
    var writesAny: Bool { !drafts.isEmpty && !replies.contains(where: \.isOutdated) }

    /// Claims the idempotency keys, and finds the members of the messages.
    mutating func find(in transaction: PostgresTransaction) async throws(PostgresError) {
        let keys = CutKeys(messages)
        let reached = Query(MessageSQL.reached) {
            $0.int64("app", messages[0].message.app.value)
            $0.int16Array("providers", Provider.allCases.map(\.rawValue))
        }
        var queries = [Query(PlannerSQL.inKeyOrder), reached] + keys.queries
        let readings = CutReadings(messages.map(\.message), idsMax: CutMessage.membersMax)
        let start = queries.count
        queries += readings.queries(messages[0].message.app)
        let answers = try await transaction.run(queries)
        let providers: [Provider]
        (providers, hasLimits) = try answers[1].one { row throws(PostgresError) in
            (try row.int16Array().compactMap(Provider.init), try row.bool())
        }
        let earlier = try keys.replies(Array(answers[2..<start]))
        let found = try readings.found(Array(answers[start...]))
        var membersLeft = CutMessage.groupMembersMax
        for (place, each) in messages.enumerated() {
            if let reply = earlier[place] {
                replies.append(reply)
            } else if let checkedFor = each.checkedFor, checkedFor != providers {
                replies.append(.reaches(providers))
            } else if let members = found[place].members, members.ids.count <= min(CutMessage.membersMax, membersLeft) {
                membersLeft -= members.ids.count
                replies.append(.cut)
                drafts.append(
                    MessageDraft(each.message, cut: SliceCut(members, parcelMembersMax: order.parcelMembersMax)))
                others += ClaimedPlan(cutting: each.message).early(members, now: now)
                if !found[place].inline.isEmpty { others.append(write(found[place].inline, of: each.message.id)) }
            } else {
                replies.append(.planned)
                drafts.append(MessageDraft(each.message, cut: nil))
            }
        }
    }

    private func write(_ inline: [InlineMember], of message: MessageID) -> Query {
        Query(MessageWriterSQL.inlineTargets) {
            $0.int64Array("ids", inline.map(\.id))
            $0.uuidArray("messages", inline.map { _ in message.value })
            $0.int64Array("routes", inline.map(\.route))
            $0.bytesArray("tokens", inline.map(\.token))
        }
    }

    /// Writes and leases everything, and commits.
    func write(in transaction: PostgresTransaction, admit: CutAdmission) async throws(PostgresError) -> WrittenParcels {
        var writer = MessageWriter(drafts, order: order, now: now)
        writer.hasLimits = hasLimits
        writer.admitted = await admit(writer.demand)
        return try await writer.write(beside: others, in: transaction)
    }
}

extension ClaimedPlan {
    /// The whole audience of a message that is cut at once.
    init(cutting message: NewMessage) {
        (self.message, app, format) = (message.id.value, message.app.value, message.format)
        (service, priority, kind) = (message.pushType.service, message.urgency.rawValue, message.kind.rawValue)
        (plannedThrough, horizon, slices, local) = (0, .max, 0, nil)
        (expiresAt, sentFrom) = (WallInstant(microseconds: 0), WallInstant(microseconds: 0))
        audience = Audience(
            AudienceText.normalized(message.audience.selection), providers: message.audience.providers,
            kind: message.audience.kind)
    }
}
