import Basis
import Calendar
import JSON
import Logging
import Model
import QueueRules
import Reactor
import ServiceLifecycle
import Store

/// Logs which active credentials will expire soon, or have expired (`ExpiryReminders`).
struct CredentialExpiryService: NamedService {
    let description = "expiry of credentials"
    let stores: Stores

    /// Short enough that the end of a credential is logged while it is news.
    private static let pause: Duration = .seconds(3_600)
    private static let appsAtOnce = 500

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var reminders = ExpiryReminders()
            while !Task.isCancelled {
                do throws(StoreFault) { try await check(&reminders) } catch {
                    stores.context.database.failed("expiry of credentials not checked", error)
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
        // The other services would end at once if this one returned before its turn.
        try? await gracefulShutdown()
    }

    private func check(_ reminders: inout ExpiryReminders) async throws(StoreFault) {
        var last: AppID?
        while true {
            let apps = try await stores.registry.apps(after: last, limit: Self.appsAtOnce)
            for app in apps {
                for credential in try await stores.credentials.list(app: app.id) where credential.state == .active {
                    remind(credential, of: app.slug, &reminders)
                }
            }
            guard apps.count == Self.appsAtOnce else { return }
            last = apps.last?.id
        }
    }

    private func remind(_ credential: CredentialRecord, of app: String, _ reminders: inout ExpiryReminders) {
        let facts = (try? JSONReader.read(credential.facts, limits: .trusted))?.object
        guard let seconds = facts?["not_after_seconds"]?.integer, let end = Int32(exactly: seconds) else { return }
        let (notAfter, now) = (WallInstant(secondsSince1970: Int64(end)), Clocks.wallNow())
        guard let stage = reminders.due(credential.id, notAfter: notAfter, now: now) else { return }
        var metadata: Logger.Metadata = [
            "app": "\(app)", "credential": "\(credential.id.value)", "provider": "\(credential.provider.name)",
            "environment": "\(credential.environment.name)", "expires_at": "\(RFC3339.format(notAfter))",
        ]
        guard stage != .expired else {
            return stores.context.log.error(
                "A credential has expired: renew it, add it and activate it", metadata: metadata)
        }
        metadata["days_left"] = .stringConvertible((notAfter - now).components.seconds / 86_400)
        stores.context.log.log(
            level: stage == .month ? .notice : .warning, "A credential expires soon: renew it, add it and activate it",
            metadata: metadata)
    }
}
