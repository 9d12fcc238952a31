import JSON
import Model
import Providers
import Store

enum AppAnswer {
    static func body(_ app: AppRecord) -> [UInt8] { JSONWriter.body { write(app, to: &$0) } }

    static func page(_ apps: [AppRecord], next: String?) -> [UInt8] {
        JSONWriter.page(apps, next: next) { write($1, to: &$0) }
    }

    static func deleting(_ app: AppRecord) -> [UInt8] {
        JSONWriter.body {
            $0.member("slug", app.slug)
            $0.member("state", "deleting")
        }
    }

    private static func write(_ app: AppRecord, to writer: inout JSONWriter) {
        let settings = app.settings
        writer.member("slug", app.slug)
        writer.member("name", app.name)
        writer.object("settings") { writer in
            writer.object("stale_after_days") {
                for provider in PushProviders.offered.map(\.id) {
                    $0.optionalInteger(provider.name, settings.stale[provider])
                }
            }
            writer.member("time_zone", settings.timeZone)
            if let hours = settings.quietHours {
                writer.object("quiet_hours") {
                    $0.member("from", QuietHours.text(of: hours.from))
                    $0.member("to", QuietHours.text(of: hours.to))
                }
            } else {
                writer.optional("quiet_hours", nil)
            }
            writer.optionalInteger("daily_cap", settings.dailyCap)
        }
        writer.object("wakeup") { settings.wakeUp.write(to: &$0) }
        writer.object("triggers") { settings.triggers.write(to: &$0) }
        writer.time("created_at", app.createdAt)
    }
}
