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
    let rules: RuleReader

    /// The most leases that one call rescues.
    static let rescuedMax: Int64 = 1_000

    /// Returns the routes that have a due parcel in a known content format, by rising id, once for every service that
    /// has one. The next call takes the last route that was looked at.
    package func readyRoutes(
        knownFormats: [Int16], after: RouteID? = nil, limit: Int = 256, now: WallInstant? = nil
    ) async throws(StoreFault) -> ReadyRoutePage {
        let query = Query(ParcelSQL.readyRoutes) {
            $0.int64("route", after?.value ?? 0)
            $0.int16Array("formats", knownFormats)
            $0.int64("limit", Int64(limit))
            $0.instant("now", now)
        }
        let rows = try await translated(await pool.read(query).map(ReadyRoute.due))
        return ReadyRoutePage(routes: rows.flatMap(\.ready), last: rows.last?.route, isFull: rows.count == limit)
    }

    /// Returns the routes that have a rate-limited parcel, and the time until one may be leased. They come by rising
    /// id, once for every service that has one.
    package func rateLimitedRoutes(
        knownFormats: [Int16], limit: Int, now: WallInstant? = nil
    ) async throws(StoreFault) -> [ReadyRoute] {
        let query = Query(RateSQL.routes) {
            $0.int16Array("formats", knownFormats)
            $0.int64("limit", Int64(limit))
            $0.instant("now", now)
        }
        return try await translated(await pool.read(query).map(ReadyRoute.rateLimited).compactMap { $0 })
    }

    /// Makes parcels with an expired lease ready again; returns how many. Terminal states that were settled stay.
    package func rescue(now: WallInstant? = nil) async throws(StoreFault) -> Int {
        let query = Query(ParcelSQL.rescue) {
            $0.int64("limit", Self.rescuedMax)
            $0.instant("now", now)
        }
        let count = try await translated(await pool.run(query).affectedRows)
        if count > 0 { notifier.notify(.parcels) }
        return count
    }
}

/// The columns of a route.
private struct RouteRow {
    let id: RouteID
    let app: AppID
    /// nil: this program doesn't know it.
    let provider: Provider?
    let environment: PushEnvironment?
    let topic: String

    init(_ row: inout Row) throws(PostgresError) {
        (id, app) = (RouteID(try row.int64()), AppID(try row.int64()))
        (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
        topic = try row.text()
    }

    func ready(
        _ service: TopicService, hasOrdinary: Bool = false, hasUrgent: Bool = false, hasLapsed: Bool = false,
        quantumAfter: Duration? = nil
    ) -> ReadyRoute? {
        guard let provider, let environment else { return nil }
        return ReadyRoute(
            route: id, service: service, app: app, provider: provider, environment: environment, topic: topic,
            hasOrdinary: hasOrdinary, hasUrgent: hasUrgent, hasLapsed: hasLapsed, quantumAfter: quantumAfter)
    }
}

extension ReadyRoute {
    /// Reads a route with due parcels, and the numbers of the services that have some.
    fileprivate static func due(_ row: inout Row) throws(PostgresError) -> (route: RouteID, ready: [ReadyRoute]) {
        let route = try RouteRow(&row)
        let (ordinary, lapsed, urgent) = (try row.int16Array(), try row.int16Array(), try row.int16Array())
        let ready = TopicService.allCases.compactMap { service in
            let (isOrdinary, isLapsed) = (ordinary.contains(service.rawValue), lapsed.contains(service.rawValue))
            guard isOrdinary || isLapsed else { return nil as ReadyRoute? }
            return route.ready(
                service, hasOrdinary: isOrdinary, hasUrgent: urgent.contains(service.rawValue), hasLapsed: isLapsed)
        }
        return (route.id, ready)
    }

    /// Reads a route's service with rate-limited parcels; returns nil if this program doesn't know it.
    fileprivate static func rateLimited(_ row: inout Row) throws(PostgresError) -> ReadyRoute? {
        let (route, service) = (try RouteRow(&row), TopicService(rawValue: try row.int16()))
        let quantumAfter = Duration.microseconds(try row.int64())
        return service.flatMap { route.ready($0, quantumAfter: quantumAfter) }
    }
}
