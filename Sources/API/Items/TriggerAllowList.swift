import JSON
import Model
import Requests
import Store
import TriggerStore

/// The regular expressions of apps, one of which each trigger must match as a whole.
///
/// An app asks one question at a time: its own patterns may take PostgreSQL a second each.
struct TriggerAllowList: Sendable {
    private let store: TriggerPatternStore
    private let places: ReadAdmission

    /// - Parameter places: those of these questions alone, with one place.
    init(store: TriggerPatternStore, places: ReadAdmission) { (self.store, self.places) = (store, places) }

    /// Throws unless the app allows the trigger. An app without patterns allows none.
    func check(_ trigger: String, in app: AppRecord) async throws(Problem) {
        let patterns = app.settings.triggers.allow.compactMap { WholePattern($0) }
        if !patterns.isEmpty {
            let isAllowed = try await asking(app) { () async throws(StoreFault) in
                try await store.matches(trigger, patterns)
            }
            if isAllowed { return }
        }
        throw Problem(
            .triggerNotAllowed,
            "None of the app's patterns matches this trigger as a whole, or matching took too long. Use a trigger that is "
                + "allowed, or add a pattern to triggers.allow: PATCH /v1/apps/\(app.slug).", at: .root / "trigger")
    }

    /// Throws unless PostgreSQL compiles each of the patterns. The first that it does not compile ends the check.
    func check(_ patterns: [String], for app: AppRecord) async throws(Problem) {
        for (place, pattern) in patterns.enumerated() {
            let pointer = JSONPointer.root / "triggers" / "allow" / place
            guard let whole = WholePattern(pattern) else {
                throw Problem(
                    .invalidValue,
                    "A pattern can't begin with *** or with options of another syntax: after (? only c, i, m, n, p, s, t "
                        + "and w are taken.", at: pointer)
            }
            switch try await asking(app, { () async throws(StoreFault) in try await store.compile(whole) }) {
            case .compiled: break
            case .invalid:
                throw Problem(.invalidValue, "PostgreSQL can't read this as a regular expression.", at: pointer)
            case .tooSlow:
                throw Problem(
                    .invalidValue,
                    "PostgreSQL takes more than a second to read this regular expression. Use a simpler one, with small "
                        + "bounds.", at: pointer)
            }
        }
    }

    private func asking<Answer: Sendable>(
        _ app: AppRecord, _ question: () async throws(StoreFault) -> Answer
    ) async throws(Problem) -> Answer {
        switch await places.begin(app.id) {
        case .begun: break
        case .shareUsedUp:
            throw Problem(
                .shareUsedUp,
                "Too many triggers of this app wait to be compared with its patterns. Send one after the other, and use "
                    + "simple patterns.", retryAfterSeconds: RetryHint.overloaded)
        case .full:
            throw Problem(
                .overloaded, "Too many triggers of other apps are being compared with patterns. Try again.",
                retryAfterSeconds: RetryHint.overloaded)
        }
        defer { places.end(app.id) }
        do { return try await question() } catch { throw Problem(error, .reads) }
    }
}

extension AppRecord {
    /// Throws while the app's subscriptions to items are switched off.
    func checkItemsAreOn() throws(Problem) {
        guard settings.triggers.isEnabled else {
            throw Problem(
                .disabled,
                "Subscriptions to items are off for this app. Switch them on with {\"triggers\": {\"enabled\": true}}: "
                    + "PATCH /v1/apps/\(slug).")
        }
    }
}
