import FCM
import Transport

/// The pace of each project of Google's: what it may send is counted by project, whichever credential speaks for it.
package struct ProjectPaces: Sendable {
    private let perMinute: Int
    private var paces: [FCMProject: ProviderPace] = [:]

    package init(perMinute: Int) { self.perMinute = perMinute }

    /// The same for all who ask, as long as anybody speaks for the project.
    /// - Parameter spokenFor: the others are forgotten when a new one comes.
    package mutating func pace(of project: FCMProject, spokenFor: (FCMProject) -> Bool) -> ProviderPace {
        if let pace = paces[project] { return pace }
        paces = paces.filter { spokenFor($0.key) }
        let pace = ProviderPace(perMinute: perMinute)
        paces[project] = pace
        return pace
    }
}
