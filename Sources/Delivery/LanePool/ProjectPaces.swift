import Lanes

/// The pace of each project at a provider that counts pushes per project, whichever credential sends them.
package struct ProjectPaces: Sendable {
    /// Tells the other processes that this one sends to a project (`ProviderPace.Heartbeat`).
    package typealias Heartbeat = @Sendable (_ project: String) async -> Int?

    private let heartbeat: Heartbeat?
    private var paces: [String: ProviderPace] = [:]

    package init(heartbeat: Heartbeat? = nil) { self.heartbeat = heartbeat }

    /// Returns the project's pace, the same for all lanes while a credential of the project is open.
    /// - Parameter spokenFor: whether a project has an open credential. The others are forgotten when a new one comes.
    package mutating func pace(of project: String, perMinute: Int, spokenFor: (String) -> Bool) -> ProviderPace {
        if let pace = paces[project] { return pace }
        paces = paces.filter { spokenFor($0.key) }
        var projectHeartbeat: ProviderPace.Heartbeat?
        if let heartbeat { projectHeartbeat = { await heartbeat(project) } }
        let pace = ProviderPace(perMinute: perMinute, heartbeat: projectHeartbeat)
        paces[project] = pace
        return pace
    }
}
