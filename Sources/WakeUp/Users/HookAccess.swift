import Basis
import Expressions
import Model
import Store
import WakeUpRules
import WakeUpStore

/// Asks an app's hooks about requests with a user's token.
package struct HookAccess: Sendable {
    private let store: AccessStore
    private let clock: @Sendable () -> WallInstant

    package init(store: AccessStore, clock: @escaping @Sendable () -> WallInstant) {
        (self.store, self.clock) = (store, clock)
    }

    /// Whether the app's hook allows the request. One that is missing, or that needs too many look-ups, denies it.
    package func allows(
        _ request: HookRequest, _ kind: HookExpression.Kind, of hooks: TriggerHooks, app: AppID
    ) async throws(StoreFault) -> Bool {
        let now = clock()
        guard let text = hooks.text(kind), let hook = try? HookExpression(parsing: text, kind: kind),
            let lookups = hook.lookups(request, now: now)
        else { return false }
        // Claims and names of fields may be any text. At a path that can't be in a tree there is nothing.
        let paths = Set(lookups.compactMap { try? NodePath($0) }).sorted()
        let values = try await store.values(at: paths, app: app)
        let known = Dictionary(uniqueKeysWithValues: zip(paths, values))  // lookup only
        return hook.allows(request, now: now) { keys in (try? NodePath(keys)).flatMap { known[$0] } ?? .null }
    }
}

extension TriggerHooks {
    fileprivate func text(_ kind: HookExpression.Kind) -> String? {
        switch kind {
        case .device: device
        case .activation: activation
        case .token: token
        }
    }
}
