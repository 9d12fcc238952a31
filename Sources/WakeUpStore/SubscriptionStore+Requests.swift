import Basis
import Model
import Postgres
import Store
import WakeUpRules

extension SubscriptionStore {
    /// A request of a device that has no API key.
    package struct Request: Equatable, Sendable {
        package var app: AppID
        package var path: NodePath
        /// The device's token, as its provider's library gave it to the app.
        package var token: String
        /// A name for the token's registration, if it has none: the same for the same token, and one that reveals
        /// nothing of it.
        package var installation: String
        package var mode: WakeUpMode
        /// The user whose token came with the request; empty: nobody.
        package var user = ""
        /// The claims of that token that the subscription keeps, as JSON; nil: there was none.
        package var claims: [UInt8]?
        /// Whether these are all claims of that token.
        package var hasAllClaims = false
        package var lifetime: Duration
        package var weightBytesMax: Int64
        package var weightLeavesMax: Int64
        /// The revision of the rules that let the user read the node; nil: any.
        package var rulesRevision: Int64?
        package var perAppMax = Int64(WakeUpSettings().subscriptionsMax)

        package init(
            app: AppID, path: NodePath, token: String, installation: String, mode: WakeUpMode, lifetime: Duration,
            weightBytesMax: Int64, weightLeavesMax: Int64
        ) {
            (self.app, self.path, self.token, self.installation) = (app, path, token, installation)
            (self.mode, self.lifetime) = (mode, lifetime)
            (self.weightBytesMax, self.weightLeavesMax) = (weightBytesMax, weightLeavesMax)
        }
    }

    package enum Reply: Equatable, Sendable {
        case subscribed
        /// Wake-up was switched off a moment ago, or the app is gone.
        case disabled
        /// No provider reads the text as a token, or a registration holds it that wake-ups can't reach.
        case unusableToken
        /// The node weighs more than the app's settings allow.
        case tooBig
        /// The device or the app has as many subscriptions as it may have.
        case tooMany
        /// The app's rules are of another revision than the one that let the user read the node.
        case rulesChanged
        /// The user had the device before. It has another registered user now, or none.
        case formerUser
    }
}

extension Parameters {
    /// The values that a subscription stores of the request that makes or refreshes it.
    mutating func subscriber(_ request: SubscriptionStore.Request, _ now: WallInstant?) {
        int16("mode", request.mode.rawValue)
        text("user", request.user)
        json("claims", request.claims)
        bool("has_all_claims", request.hasAllClaims)
        instant("now", now)
        int64("lifetime_us", request.lifetime.wholeMicroseconds)
    }
}
