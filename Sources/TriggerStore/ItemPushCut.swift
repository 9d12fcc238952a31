import Basis
import Model
import Postgres
import Store

/// The messages that one transaction cuts.
struct ItemPushCut: Sendable {
    let order: ItemPushOrder
    /// nil: by the database's clock. Only tests hand it in.
    let now: WallInstant?
    private let contents: ItemPushContents
    private var templates: [Int64: [UInt8]] = [:]  // lookup only
    private var drafts: [MessageDraft] = []

    init(_ order: ItemPushOrder, now: WallInstant?, _ contents: ItemPushContents) {
        (self.order, self.now, self.contents) = (order, now, contents)
    }

    /// Makes the messages of groups.
    mutating func make(
        _ groups: PushGroups, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> PushGroups.Made {
        let missing = groups.templates.filter { templates[$0] == nil }
        if !missing.isEmpty {
            let query = Query(ItemPushSQL.templates) { $0.int64Array("templates", missing) }
            let found = try await transaction.run(query).map { row throws(PostgresError) in
                (id: try row.int64(), content: try row.bytes())
            }
            for template in found { templates[template.id] = template.content }
        }
        let made = groups.drafts(templates, order, contents)
        drafts = made.drafts
        return made
    }

    /// Writes messages, parcels and notes, and commits.
    ///
    /// - Parameters:
    ///   - notes: the queries beside those that write messages.
    ///   - leasing: nil: no parcel is leased.
    func write(
        beside notes: [Query], leasing: CutLeasing?, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> ItemPushReply {
        var writer = MessageWriter(drafts, order: leasing?.order, now: now)
        let demand = writer.demand
        if let leasing, !demand.isEmpty { writer.admitted = await leasing.admit(demand) }
        let count = drafts.reduce(0) { $0 + $1.memberCount }
        guard writer.leasesAny else {
            let last = [Query(PlanSQL.soonOnDisk)]
            let written = try await writer.write(beside: notes + last, in: transaction)
            return .cut(messages: drafts.count, pushes: count, written)
        }
        do throws(PostgresError) {
            let written = try await writer.write(beside: notes, in: transaction)
            return .cut(messages: drafts.count, pushes: count, written)
        } catch {
            if case .commitUnknown = error { leasing?.lost(drafts.map(\.message.id)) }
            throw error
        }
    }
}
