import Basis
import Model
import Postgres
import QueueRules

/// Some of the routes that have a due parcel.
package struct ReadyRoutePage: Equatable, Sendable {
    /// Rising. Without those of a provider that this program doesn't know: a newer one's processes lease for it.
    package let routes: [ReadyRoute]
    /// The last one that was looked at, known or not: where the next page goes on.
    package let last: RouteID?
    /// More may follow.
    package let isFull: Bool
}

/// Parcels: the unit of leasing, retrying and settling.
package struct ParcelStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    let steps: (any StepListener)?

    /// Leases that one call brings back.
    static let rescuedMax: Int64 = 1_000

    package init(pool: PostgresPool, notifier: WorkNotifier, steps: (any StepListener)? = nil) {
        self.pool = pool
        self.notifier = notifier
        self.steps = steps
    }

    /// Routes that have a due parcel of a content's format that is known, by rising id, each once for every service that
    /// has one; pass the last route that was looked at to go on.
    package func readyRoutes(
        knownFormats: [Int16], after: RouteID? = nil, limit: Int = 256, now: WallInstant? = nil
    ) async throws(StoreFault) -> ReadyRoutePage {
        let query = Query(ParcelSQL.readyRoutes) {
            $0.int64(after?.value ?? 0)
            $0.int64(Int64(limit))
            $0.instant(now)
            $0.int16Array(knownFormats)
        }
        let rows = try await translating { () throws(PostgresError) in try await pool.read(query) }
        do throws(PostgresError) {
            var routes: [ReadyRoute] = []
            var last: RouteID?
            for row in 0..<rows.rowCount {
                let route = RouteID(try rows.int64(row, 0))
                last = route
                guard let provider = Provider(rawValue: try rows.int16(row, 2)),
                    let environment = PushEnvironment(rawValue: try rows.int16(row, 3))
                else { continue }
                let (ordinary, lapsed, urgent) = (
                    try rows.int16Array(row, 5), try rows.int16Array(row, 6), try rows.int16Array(row, 7)
                )
                for service in TopicService.allCases
                where ordinary.contains(service.rawValue) || lapsed.contains(service.rawValue) {
                    routes.append(
                        ReadyRoute(
                            route: route, service: service, app: AppID(try rows.int64(row, 1)), provider: provider,
                            environment: environment, topic: try rows.text(row, 4),
                            hasOrdinary: ordinary.contains(service.rawValue),
                            hasUrgent: urgent.contains(service.rawValue),
                            hasLapsed: lapsed.contains(service.rawValue)))
                }
            }
            return ReadyRoutePage(routes: routes, last: last, isFull: rows.rowCount == limit)
        } catch { throw StoreFault(error) }
    }

    /// Routes that have a parcel which waits for its message's rate, with how long it is until one of them may be leased;
    /// by rising id, each once for every service that has one.
    package func rateLimitedRoutes(
        knownFormats: [Int16], limit: Int, now: WallInstant? = nil
    ) async throws(StoreFault) -> [ReadyRoute] {
        let query = Query(RateSQL.routes) {
            $0.instant(now)
            $0.int16Array(knownFormats)
            $0.int64(Int64(limit))
        }
        let rows = try await translating { () throws(PostgresError) in try await pool.read(query) }
        do throws(PostgresError) {
            var routes: [ReadyRoute] = []
            for row in 0..<rows.rowCount {
                guard let provider = Provider(rawValue: try rows.int16(row, 2)),
                    let environment = PushEnvironment(rawValue: try rows.int16(row, 3)),
                    let service = TopicService(rawValue: try rows.int16(row, 5))
                else { continue }
                routes.append(
                    ReadyRoute(
                        route: RouteID(try rows.int64(row, 0)), service: service, app: AppID(try rows.int64(row, 1)),
                        provider: provider, environment: environment, topic: try rows.text(row, 4), hasOrdinary: false,
                        quantumAfter: .microseconds(try rows.int64(row, 6))))
            }
            return routes
        } catch { throw StoreFault(error) }
    }

    /// Brings leases back whose end has passed; returns how many. What they had settled stays settled.
    package func rescue(now: WallInstant? = nil) async throws(StoreFault) -> Int {
        let query = Query(ParcelSQL.rescue) {
            $0.instant(now)
            $0.int64(Self.rescuedMax)
        }
        let count = try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows }
        if count > 0 { notifier.notify(.parcels) }
        return count
    }

    /// Whether the parcel still is the owner's; if so, for that much longer.
    package func renew(
        _ parcel: ParcelID, epoch: Int32, owner: ProcessID, for length: Duration, now: WallInstant? = nil
    ) async throws(StoreFault) -> Bool {
        let query = Query(ParcelSQL.renew) {
            $0.int64(parcel.value)
            $0.int32(epoch)
            $0.uuid(owner.value)
            $0.int64(length.wholeMicroseconds)
            $0.instant(now)
        }
        return try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows == 1 }
    }
}
