import Basis
import Model
import Postgres
import QueueRules

/// A page of the routes that have a due parcel.
package struct ReadyRoutePage: Equatable, Sendable {
    /// Rising. Routes of a provider that this program doesn't know are left out: a newer one's processes lease for
    /// them.
    package let routes: [ReadyRoute]
    /// The last route that was looked at, known or not. The next page starts after it.
    package let last: RouteID?
    /// More may follow.
    package let isFull: Bool
}

/// Parcels: the unit of leasing, retrying and settling.
package struct ParcelStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    let steps: (any StepListener)?

    /// The most leases that one call rescues.
    static let rescuedMax: Int64 = 1_000

    package init(pool: PostgresPool, notifier: WorkNotifier, steps: (any StepListener)? = nil) {
        self.pool = pool
        self.notifier = notifier
        self.steps = steps
    }

    /// Returns the routes that have a due parcel in a known content format, by rising id, once for every service that
    /// has one. The next call takes the last route that was looked at.
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

    /// Returns the routes that have a rate-limited parcel, and the time until one may be leased. They come by rising
    /// id, once for every service that has one.
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

    /// Makes parcels with an expired lease ready again; returns how many. Terminal states that were settled stay.
    package func rescue(now: WallInstant? = nil) async throws(StoreFault) -> Int {
        let query = Query(ParcelSQL.rescue) {
            $0.instant(now)
            $0.int64(Self.rescuedMax)
        }
        let count = try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows }
        if count > 0 { notifier.notify(.parcels) }
        return count
    }
}
