import Calendar
import JSON
import Model
import Providers
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
        for provider in PushProviders.offered.map(\.id) {
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
