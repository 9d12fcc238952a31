import Basis
import Postgres
import Store

/// The quiet hours of the devices of one transaction, on their own clocks.
struct DeviceQuietHours: Sendable {
    /// When they end, by registration.
    private var ends: [Int64: WallInstant] = [:]  // lookup only

    /// No device has quiet hours.
    init() {}

    /// - Parameter rows: the answer to `query`.
    init(_ rows: ResultSet) throws(PostgresError) {
        let zones = try rows.map { row throws(PostgresError) in
            (registrations: try row.int64Array(), end: try row.instantOrNil())
        }
        for zone in zones {
            guard let end = zone.end else { continue }
            for registration in zone.registrations { ends[registration] = end }
        }
    }

    /// The query for them; nil: none of the apps sets quiet hours.
    ///
    /// - Parameters:
    ///   - registrations: the devices of these apps, rising.
    ///   - now: when the transaction began.
    static func query(of registrations: [Int64], in apps: [PushApp], now: WallInstant) -> Query? {
        let quiet = apps.filter(\.hasQuietHours).map(\.id).rising
        if quiet.isEmpty || registrations.isEmpty { return nil }
        var parameters = Parameters()
        parameters.int64Array("apps", quiet)
        parameters.instant("now", now)
        return ItemPushSQL.quietHours.query(MemberKeys(registrations), parameters)
    }

    /// The end of the quiet hours that a push waits for; nil: it waits for none.
    func end(for terms: PushTerms, of registration: Int64) -> WallInstant? {
        terms.isShown ? ends[registration] : nil
    }
}
