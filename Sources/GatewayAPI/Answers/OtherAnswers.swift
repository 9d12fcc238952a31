import Calendar
import JSON
import PushModel
import Store

enum AppAnswer {
    static func body(_ app: AppRecord) -> [UInt8] {
        var writer = JSONWriter()
        write(app, to: &writer)
        return writer.bytes
    }

    static func page(_ apps: [AppRecord], next: String?) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(apps, next: next) { writer, app in write(app, to: &writer) }
        return writer.bytes
    }

    static func deleting(_ app: AppRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("slug", app.slug)
        writer.member("state", "deleting")
        writer.endObject()
        return writer.bytes
    }

    private static func write(_ app: AppRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("slug", app.slug)
        writer.member("name", app.name)
        writer.name("settings")
        writer.beginObject()
        writer.name("stale_after_days")
        writer.beginObject()
        for provider in [Provider.apns, .fcm] {
            writer.name(provider.name)
            if let days = app.settings.stale[provider] { writer.integer(Int64(days)) } else { writer.null() }
        }
        writer.endObject()
        writer.member("time_zone", app.settings.timeZone)
        writeLimits(app.settings, to: &writer)
        writer.endObject()
        writer.time("created_at", app.createdAt)
        writer.endObject()
    }
}

extension AppAnswer {
    private static func writeLimits(_ settings: AppSettings, to writer: inout JSONWriter) {
        writer.name("quiet_hours")
        if let hours = settings.quietHours {
            writer.beginObject()
            writer.member("from", QuietHours.text(of: hours.from))
            writer.member("to", QuietHours.text(of: hours.to))
            writer.endObject()
        } else {
            writer.null()
        }
        writer.name("daily_cap")
        if let cap = settings.dailyCap { writer.integer(Int64(cap)) } else { writer.null() }
    }
}

enum FeedbackAnswer {
    static func page(_ items: [FeedbackItem], next: String?) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(items, next: next) { writer, item in
            writer.beginObject()
            writer.member("id", String(item.id))
            writer.member("installation", item.installation)
            writer.member("kind", item.kind.name)
            writer.member("provider", item.provider.name)
            writer.member("verdict", item.verdict.name)
            writer.member("reason", item.reason)
            if let environments = item.environments {
                writer.member("from", environments.from.name)
                writer.member("to", environments.to.name)
            }
            writer.time("at", item.at)
            writer.endObject()
        }
        return writer.bytes
    }
}

/// Credentials as the API shows them: never a secret.
enum CredentialAnswer {
    static func body(_ credential: CredentialRecord) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        write(credential, to: &writer)
        return writer.bytes
    }

    static func page(_ credentials: [CredentialRecord]) -> [UInt8] {
        var writer = JSONWriter(capacity: 4_096)
        writer.page(credentials, next: nil) { writer, credential in write(credential, to: &writer) }
        return writer.bytes
    }

    private static func write(_ credential: CredentialRecord, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", String(credential.id.value))
        writer.member("provider", credential.provider.name)
        writer.member("kind", credential.kind.rawValue)
        writer.member("environment", credential.environment.name)
        writer.name("topics")
        writer.beginArray()
        for topic in credential.topics { writer.string(topic) }
        writer.endArray()
        writer.member("state", credential.state.name)
        writeFacts(credential.facts, to: &writer)
        writer.time("created_at", credential.createdAt)
        writer.optionalTime("activated_at", credential.activatedAt)
        writer.optionalTime("retired_at", credential.retiredAt)
        writer.endObject()
    }

    /// Facts were written by us, beside the sealed part, to be shown.
    private static func writeFacts(_ facts: [UInt8], to writer: inout JSONWriter) {
        guard let members = (try? JSONReader.read(facts, limits: .trusted))?.object?.members else { return }
        for member in members {
            if member.name == "not_after_seconds", let seconds = member.value.integer.flatMap(Int32.init(exactly:)) {
                writer.time("expires_at", WallInstant(secondsSince1970: Int64(seconds)))
            } else {
                writer.member(member.name, member.value)
            }
        }
    }
}

extension CredentialState {
    var name: String {
        switch self {
        case .staged: "staged"
        case .active: "active"
        case .retired: "retired"
        }
    }
}
