import Basis
import Model
import Postgres
import QueueRules

/// A message of the gateway's own, and its members as parcels: a wake-up, or the notice of a revocation.
struct GatewayMessage: Sendable {
    let content: FanOutContent
    let app: AppID
    let audience: Audience
    let cut: SliceCut

    /// The most receivers of a message that no broadcast may delay.
    private static let transactionalMax = 100

    init(
        _ content: FanOutContent, app: AppID, audience: Audience, members: [Member], parcelMembersMax: Int
    ) {
        (self.content, self.app, self.audience) = (content, app, audience)
        cut = SliceCut(FoundMembers(members, through: 0, isLast: true), parcelMembersMax: parcelMembersMax)
    }

    fileprivate var urgency: MessageUrgency { cut.members <= Self.transactionalMax ? .transactional : .bulk }
}

extension [GatewayMessage] {
    /// The queries that write the messages, of which the last one returns the routes with new parcels. None without a
    /// message.
    func writes(_ origin: MessageOrigin, format: Int16, now: WallInstant?) -> [Query] {
        isEmpty ? [] : [messages(origin, format, now), parcels(now)]
    }

    private func messages(_ origin: MessageOrigin, _ format: Int16, _ now: WallInstant?) -> Query {
        Query(FanOutSQL.messages) {
            $0.int16("format", format)
            $0.instant("now", now)
            $0.int16("origin", origin.rawValue)
            $0.uuidArray("messages", map(\.content.id.value))
            $0.int64Array("apps", map(\.app.value))
            $0.int16Array("priorities", map(\.urgency.rawValue))
            $0.int16Array("push_types", map(\.content.pushType.rawValue))
            $0.int64Array("lifetimes_us", map(\.content.lifetime.wholeMicroseconds))
            $0.int64Array("members", map { Int64($0.cut.members) })
            $0.textBytesArray("summaries", map { AudienceText.summary(of: $0.audience) })
            $0.bytesArray("contents", map(\.content.content))
            $0.bytesArray("audiences", map { AudienceText.encode($0.audience) })
        }
    }

    private func parcels(_ now: WallInstant?) -> Query {
        let owners = flatMap { Array<FanOutContent>(repeating: $0.content, count: $0.cut.routes.count) }
        return Query(FanOutSQL.parcels) {
            $0.instant("now", now)
            $0.uuidArray("messages", owners.map(\.id.value))
            $0.int64Array("routes", flatMap(\.cut.routes))
            $0.int16Array("services", owners.map(\.pushType.service.rawValue))
            $0.bytesArray("members", flatMap(\.cut.memberLists))
            $0.int32Array("member_counts", flatMap(\.cut.counts))
        }
    }
}

extension ReadyRoute {
    /// Reads a row of `FanOutSQL.parcels`.
    init(_ row: inout Row) throws(PostgresError) {
        let (route, service) = (RouteID(try row.int64()), try row.stored() as TopicService)
        self.init(
            route: route, service: service, app: AppID(try row.int64()), provider: try row.stored(),
            environment: try row.stored(), topic: try row.text(), hasUrgent: try row.bool())
    }
}
