import LaneRules
import Lanes

/// The pace of each project at a provider that counts pushes per project, whichever credential sends them.
package struct ProjectPaces: Sendable {
    /// Asks the ledger that all processes share for a part of a project's quota.
    package typealias QuotaRequester = @Sendable (_ project: String, QuotaRequest) async -> QuotaGrant?

    private let requester: QuotaRequester?
    private var paces: [String: ProviderPace] = [:]

    /// - Parameter requester: nil: there is no other process.
    package init(requester: QuotaRequester? = nil) { self.requester = requester }

    /// Returns the project's pace, the same for all lanes while a credential of the project is open.
    /// - Parameter spokenFor: whether a project has an open credential. The others are forgotten when a new one comes.
    package mutating func pace(of project: String, perMinute: Int, spokenFor: (String) -> Bool) -> ProviderPace {
        if let pace = paces[project] { return pace }
        paces = paces.filter { spokenFor($0.key) }
        var projectRequester: ProviderPace.QuotaRequester?
        if let requester { projectRequester = { await requester(project, $0) } }
        let pace = ProviderPace(perMinute: perMinute, requester: projectRequester)
        paces[project] = pace
        return pace
    }
}
