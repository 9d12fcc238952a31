import Basis
import Model
import Postgres
import ProviderInterface
import Store

extension SubscriptionStore {
    /// Refreshes a subscription that exists, in one transaction: most requests are refreshes, and anybody may send them.
    ///
    /// - Returns: false if there is none, or if anything else has to be decided or written first.
    func refresh(_ request: Request, _ now: WallInstant?) async throws(PostgresError) -> Bool {
        let holders = Self.readings(of: request.token).flatMap { reading in
            Self.kinds(of: reading.provider).map { (reading.provider.id, reading.token.bytes, kind: $0) }
        }
        if holders.isEmpty { return false }
        let query = Query(SubscriptionSQL.refresh) {
            $0.int64("app", request.app.value)
            $0.text("path", request.path.text)
            $0.int16Array("providers", holders.map(\.0.rawValue))
            $0.bytesArray("tokens", holders.map(\.1))
            $0.int16Array("kinds", holders.map(\.kind.rawValue))
            $0.int64("bytes_max", request.weightBytesMax)
            $0.int64("leaves_max", request.weightLeavesMax)
            $0.int64("revision", request.rulesRevision)
            $0.bool("value", request.mode == .value)
            $0.bool("children", request.mode == .childEvent)
            $0.subscriber(request, now)
        }
        return try await pool.retryingRun([Query(PlannerSQL.throughKeys), query])[1].rowCount > 0
    }

    /// The kinds of registrations that a wake-up reaches.
    private static func kinds(of provider: any PushProvider) -> [TokenKind] {
        [.wakeUp] + provider.tokenKinds(of: .background).filter { $0 != .wakeUp }
    }
}
