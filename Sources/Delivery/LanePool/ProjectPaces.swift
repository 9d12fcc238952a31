import FCM
import LaneRules
import Lanes

/// The pace of each Google project: FCM counts pushes per project, whichever credential sends them.
package struct ProjectPaces: Sendable {
    /// Asks the ledger that all processes share.
    package typealias QuotaRequester = @Sendable (FCMProject, QuotaRequest) async -> QuotaGrant?

    private let perMinute: Int
    private let requester: QuotaRequester?
    private var paces: [FCMProject: ProviderPace] = [:]

    /// - Parameter requester: nil: there is no other process.
    package init(perMinute: Int, requester: QuotaRequester? = nil) {
        self.perMinute = perMinute
        self.requester = requester
    }

    /// Returns the project's pace, the same for all lanes while a credential of the project is open.
    /// - Parameter spokenFor: whether a project has an open credential. The others are forgotten when a new one comes.
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
