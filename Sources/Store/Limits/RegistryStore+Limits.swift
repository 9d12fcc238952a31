import JSON
import Model
import Postgres

/// A change of an app's limits; `.keep` leaves one as it is.
package struct AppLimitChange: Equatable, Sendable {
    package var quietHours: DeviceRegistration.Change<QuietHours> = .keep
    package var dailyCap: DeviceRegistration.Change<Int32> = .keep

    package init() {}

    /// Writes the form that the leases' statements read (`LimitSQL`).
    func write(to writer: inout JSONWriter) {
        switch quietHours {
        case .keep: break
        case .clear: writer.optional("quiet_hours", nil)
        case .set(let hours):
            writer.object("quiet_hours") {
                $0.member("from", QuietHours.text(of: hours.from))
                $0.member("to", QuietHours.text(of: hours.to))
            }
        }
        switch dailyCap {
        case .keep: break
        case .clear: writer.optional("daily_cap", nil)
        case .set(let cap): writer.member("daily_cap", cap)
        }
    }
}

extension AppSettings {
    /// Returns false if the stored text was not written by this program.
    mutating func readLimits(_ stored: JSONObject) -> Bool {
        if let value = stored["quiet_hours"], !value.isNull {
            let minutes = ["from", "to"].compactMap { value.object?[$0]?.string.flatMap(QuietHours.minute) }
            guard minutes.count == 2, let hours = QuietHours(from: minutes[0], to: minutes[1]) else { return false }
            quietHours = hours
        }
        if let value = stored["daily_cap"], !value.isNull {
            guard let cap = value.integer.flatMap(Int32.init(exactly:)), cap > 0 else { return false }
            dailyCap = cap
        }
        return true
    }
}

extension RegistryStore {
    /// Deletes a user's daily counts, which are stored under the user's name. It waits for leases that read the name
    /// before and still count by it. A call after the user's registrations are gone therefore leaves nothing.
    func forgetDays(of user: String, _ app: AppID) async throws(StoreFault) {
        let queries = [
            Query(LimitSQL.forgetting) { $0.int64("app", app.value) },
            Query(LimitSQL.erase) {
                $0.int64("app", app.value)
                $0.text("user", user)
            },
        ]
        _ = try await translated(await pool.run(queries, transaction: TransactionOptions()))
    }
}
