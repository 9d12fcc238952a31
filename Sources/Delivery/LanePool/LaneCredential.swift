import Credentials
import LaneRules
import Lanes
import Model
import ProviderInterface

/// An opened credential, with what its lane needs.
package struct LaneCredential: Sendable {
    package enum TokenSource: Sendable {
        case certificate
        case providerToken(ProviderTokenRefresher)
        /// `arrived` is called when a token comes that routes may wait for.
        case accessToken(AccessTokenRefresher, arrived: @Sendable () async -> Void)
    }

    let id: CredentialID
    /// The app's slug, for the log.
    let app: String
    let settings: LaneSettings
    let reach: CredentialReach
    let tokenSource: TokenSource
    /// The project whose quota its pushes count in; nil: there is none.
    let project: String?

    package init(
        id: CredentialID, app: String, settings: LaneSettings, reach: CredentialReach,
        tokenSource: TokenSource = .certificate, project: String? = nil
    ) {
        (self.id, self.app, self.settings, self.reach) = (id, app, settings, reach)
        (self.tokenSource, self.project) = (tokenSource, project)
    }

    /// Records that the provider refused that generation of the provider token as too old, or of the access token.
    /// Returns true if the token stays in use, because no other may be signed yet.
    func noteTokenExpired(_ generation: UInt64, quoting quote: AnswerQuote) async -> Bool {
        switch tokenSource {
        case .providerToken(let token): return await token.refusedAsExpired(generation, reason: quote.reason) == .kept
        case .accessToken(let token, let arrived): token.refused(generation, quoting: quote, arrived: arrived)
        case .certificate: break
        }
        return false
    }

    /// Records that connections opened before now are useless to it.
    func needsNewConnections() {
        if case .providerToken(let token) = tokenSource { token.needsNewConnections() }
    }
}

/// Whether a route's pushes can be sent, as far as credentials go.
enum CredentialStatus: Sendable {
    case ready(LaneCredential)
    /// The credential can't be used now, for a reason in the provider's words if it gave one. If it is being opened,
    /// the routes are resolved again after that.
    case waits(CredentialID, LaneCause, reason: String)
    /// No active credential covers the route.
    case missing
    /// The database could not be asked. The next poll asks again.
    case unread
}
