import JSON

/// The lines below a change of the credentials in use: the way back, and the environments that it did not reach.
package struct ActivationText {
    private let before: [JSONValue]
    private let after: [JSONValue]
    private let app: String

    /// - Parameters:
    ///   - before: the app's credentials, as the gateway lists them.
    ///   - after: the same list after the change.
    package init(before: [JSONValue], after: [JSONValue], app: String) {
        (self.before, self.after, self.app) = (before, after, app)
    }

    /// The lines after an activation.
    ///
    /// - Parameter ids: the credentials that were activated.
    package func lines(activated ids: [String]) -> [String] {
        let own = after.filter { ids.contains($0.shown("id")) }
        return waysBack
            + own.flatMap { credential in
                other(environmentsOf: credential).map { others(of: credential, in: $0) }
            }
    }

    /// The lines after a credential was retired or deleted: its siblings that are still in use.
    package func lines(ended id: String) -> [String] {
        let submission = before.first { $0.shown("id") == id }?.shown("submission")
        return after.filter { $0.isActive && $0.shown("submission") == submission && $0.shown("id") != id }.map {
            "\($0.place) still uses \($0.credentialTitle). To retire it there too: carillon credentials retire "
                + "\($0.shown("id")) --app \(app)"
        }
    }

    private var waysBack: [String] {
        let former = before.filter { old in
            old.isActive && after.contains { $0.shown("id") == old.shown("id") && !$0.isActive }
        }
        return former.map {
            "To go back to \($0.credentialTitle) in \($0.place): carillon credentials activate \($0.shown("id")) "
                + "--app \(app)"
        }
    }

    /// The environments without this credential in which its sibling could be used, or another one is in use.
    private func other(environmentsOf credential: JSONValue) -> [String] {
        let others = after.filter {
            $0.shown("provider") == credential.shown("provider")
                && $0.shown("environment") != credential.shown("environment") && $0.covers(topicsOf: credential)
                && ($0.isActive || $0.shown("submission") == credential.shown("submission"))
        }
        let served = others.filter { $0.isActive && $0.isSameKey(as: credential) }.map { $0.shown("environment") }
        var names: [String] = []
        for name in others.map({ $0.shown("environment") }) where !served.contains(name) && !names.contains(name) {
            names.append(name)
        }
        return names
    }

    private func others(of credential: JSONValue, in environment: String) -> String {
        let there = after.filter {
            $0.shown("provider") == credential.shown("provider") && $0.shown("environment") == environment
        }
        let used = there.filter { $0.isActive && $0.covers(topicsOf: credential) }.map(\.credentialTitle)
        let place = CredentialText.place(provider: credential.shown("provider"), environment: environment)
        let state = used.isEmpty ? "does not use this credential" : "still uses \(used.joined(separator: " and "))"
        let sibling = there.first { $0.shown("submission") == credential.shown("submission") }
        let command = sibling.map {
            " To activate this one there too: carillon credentials activate \($0.shown("id")) --app \(app)"
        }
        return "\(place) \(state).\(command ?? "")"
    }
}

extension JSONValue {
    fileprivate var isActive: Bool { shown("state") == "active" }

    fileprivate var place: String {
        CredentialText.place(provider: shown("provider"), environment: shown("environment"))
    }

    fileprivate var credentialTitle: String { CredentialText.title(of: self) }

    fileprivate func isSameKey(as other: JSONValue) -> Bool {
        shown("submission") == other.shown("submission")
            || CredentialText.key(of: self) == CredentialText.key(of: other)
    }

    /// Whether two credentials have a topic in common. One without topics covers all.
    fileprivate func covers(topicsOf other: JSONValue) -> Bool {
        let (own, others) = (strings("topics"), other.strings("topics"))
        return own.isEmpty || others.isEmpty || own.contains { others.contains($0) }
    }
}

extension GatewayClient {
    /// The app's credentials; nil if they can't be read.
    ///
    /// - Parameter path: the app's credentials.
    func credentials(_ path: String) async -> [JSONValue]? {
        try? await get(path, as: .list(of: .credential)).elements("items")
    }
}

extension AppOptions {
    /// The lines that compare the app's credentials with those before a change.
    ///
    /// - Parameter before: nil: nobody reads lines, or the list could not be read.
    func remarks(
        _ before: [JSONValue]?, _ client: GatewayClient, _ lines: (ActivationText) -> [String]
    ) async throws(CommandFault) -> [String] {
        guard let before, let after = await client.credentials(try path("credentials")) else { return [] }
        return lines(ActivationText(before: before, after: after, app: try slug()))
    }
}
