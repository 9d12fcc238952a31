import HTTPTypes
import JSON
import Model
import Requests
import Store

struct AppHandlers: Sendable {
    let registry: RegistryStore
    let log: AdministrationLog
    let allowList: TriggerAllowList

    func app(of call: Call) async throws(Problem) -> AppRecord { try await app(call.app, for: call.caller) }

    func app(_ slug: String, for caller: Caller) async throws(Problem) -> AppRecord {
        guard AppRequest.isSlug(slug), let app = try await find(slug) else { throw .unknownApp }
        try caller.check(app.id)
        return app
    }

    private func find(_ slug: String) async throws(Problem) -> AppRecord? {
        try await translating(.reads, await registry.app(slug: slug))
    }

    func read(_ call: Call) async throws(Problem) -> Answer { Answer(.ok, AppAnswer.body(try await app(of: call))) }

    func list(_ call: Call) async throws(Problem) -> Answer {
        let limit = try call.query.limit()
        let after = try call.query.cursor { Int64($0).flatMap { $0 < 0 ? nil : AppID($0) } }
        let apps = try await translating(.reads, await registry.apps(after: after, limit: limit))
        let next = apps.count == limit ? apps.last.map { String($0.id.value) } : nil
        return Answer(.ok, AppAnswer.page(apps, next: next))
    }

    /// Creates an app. A repetition with the same slug and name gets the existing app, with 200.
    func create(_ call: Call) async throws(Problem) -> Answer {
        let request = try AppRequest.read(call.body)
        let location = "/v1/apps/\(request.slug)"
        do {
            let app = try await registry.createApp(slug: request.slug, name: request.name)
            log.note(.created, app: app.slug, by: call.caller)
            return Answer(.created, AppAnswer.body(app), headers: [(.location, location)])
        } catch {
            guard error == .conflict(.slugTaken), let app = try await find(request.slug),
                app.name.utf8.elementsEqual(request.name.utf8)
            else { throw Problem(error, .isIdempotent) }
            return Answer(.ok, AppAnswer.body(app), headers: [(.location, location)])
        }
    }
}

extension AppHandlers {
    func change(_ call: Call) async throws(Problem) -> Answer {
        let change = try AppChangeRequest.read(call.body)
        let app = try await app(of: call)
        if let zone = change.timeZone, try await !translating(.reads, await registry.knows(timeZone: zone)) {
            throw .unknownTimeZone(at: .root / "settings" / "time_zone")
        }
        if let patterns = change.triggers.allow { try await allowList.check(patterns, for: app) }
        guard let changed = try await translating(.isIdempotent, await registry.changeApp(app.id, change)) else {
            throw .unknownApp
        }
        log.note(.changed, app: app.slug, by: call.caller)
        return Answer(.ok, AppAnswer.body(changed))
    }

    /// Deletes the app at once. Its rows are removed in the background.
    func delete(_ call: Call) async throws(Problem) -> Answer {
        let app = try await app(of: call)
        guard try await translating(.isIdempotent, await registry.deleteApp(app.id)) else { throw .unknownApp }
        log.note(.deleted, app: app.slug, by: call.caller)
        return Answer(.accepted, AppAnswer.deleting(app))
    }
}
