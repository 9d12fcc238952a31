import Basis
import Model
import Reactor
import Synchronization

/// A cache of apps by slug, for a moment, and of slugs that no app has.
///
/// Anybody can invent slugs. So those without an app have a part of their own, which evicts no app.
package final class SlugCache: Sendable {
    package static let usuallyFreshFor: Duration = .seconds(1)
    static let entriesMax = 1_000

    enum Known {
        case app(AppRecord)
        /// No app has the slug.
        case unused
    }

    private struct Slugs {
        var apps: [String: (app: AppRecord, until: MonotonicInstant)] = [:]  // lookup only
        var unused: [String: MonotonicInstant] = [:]  // lookup only
        /// Rises with each app that may have been made: a look-up that began before may have missed it.
        var changes = 0
    }

    private let freshFor: Duration
    private let slugs = Mutex(Slugs())

    init(freshFor: Duration) { self.freshFor = freshFor }

    /// - Returns: what is known, if it is fresh, and the number of changes before the look-up that has to follow if not.
    func find(_ slug: String) -> (known: Known?, changes: Int) {
        let now = Clocks.monotonicNow()
        return slugs.withLock { slugs in
            if let entry = slugs.apps[slug], now < entry.until { return (.app(entry.app), slugs.changes) }
            let isUnused = slugs.unused[slug].map { now < $0 } ?? false
            return (isUnused ? .unused : nil, slugs.changes)
        }
    }

    /// Whether an app had the slug when it was asked for last, however long ago.
    func hasSeen(_ slug: String) -> Bool { slugs.withLock { $0.apps[slug] != nil } }

    func forget(_ app: AppID) { slugs.withLock { slugs in slugs.apps = slugs.apps.filter { $0.value.app.id != app } } }

    func forget(unused slug: String) {
        slugs.withLock { slugs in
            slugs.unused[slug] = nil
            slugs.changes += 1
        }
    }

    func cache(_ app: AppRecord) {
        slugs.withLock { slugs in
            if slugs.apps.count >= Self.entriesMax { slugs.apps.removeAll(keepingCapacity: true) }
            slugs.apps[app.slug] = (app, Clocks.monotonicNow() + freshFor)
        }
    }

    func cache(unused slug: String, asOf changes: Int) {
        slugs.withLock { slugs in
            guard slugs.changes == changes else { return }
            if slugs.unused.count >= Self.entriesMax { slugs.unused.removeAll(keepingCapacity: true) }
            slugs.unused[slug] = Clocks.monotonicNow() + freshFor
        }
    }
}
