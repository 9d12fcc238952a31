import FCM
import LaneRules
import Lanes

/// The pace of each project of Google's: what it may send is counted by project, whichever credential speaks for it.
package struct ProjectPaces: Sendable {
    /// Asks the book that all processes share.
    package typealias QuotaRequester = @Sendable (FCMProject, QuotaRequest) async -> QuotaGrant?

    private let perMinute: Int
    private let requester: QuotaRequester?
    private var paces: [FCMProject: ProviderPace] = [:]

    /// - Parameter book: nil: there is no other process.
    package init(perMinute: Int, requester: QuotaRequester? = nil) {
        self.perMinute = perMinute
        self.requester = requester
    }

    /// The same for all who ask, as long as anybody speaks for the project.
    /// - Parameter spokenFor: the others are forgotten when a new one comes.
    package mutating func pace(of project: FCMProject, spokenFor: (FCMProject) -> Bool) -> ProviderPace {
        if let pace = paces[project] { return pace }
        paces = paces.filter { spokenFor($0.key) }
        var projectRequester: ProviderPace.QuotaRequester?
        if let requester { projectRequester = { await requester(project, $0) } }
        let pace = ProviderPace(perMinute: perMinute, requester: projectRequester)
        paces[project] = pace
        return pace
    }
}
