import Basis
import Model

/// The token that authorizes an account's requests for about an hour. A secret.
package struct AccessToken: Equatable, Sendable, CustomStringConvertible {
    /// Opaque: 1 KB and odd endings occur.
    package let text: [UInt8]
    /// The time of the request: the lifetime counts from here, on our monotonic clock.
    package let askedAt: MonotonicInstant
    package let lifetime: Duration

    package init(text: [UInt8], askedAt: MonotonicInstant, lifetime: Duration) {
        precondition(lifetime > .zero)
        (self.text, self.askedAt, self.lifetime) = (text, askedAt, lifetime)
    }

    package var description: String { "access token for \(lifetime)" }

    package var authorization: [UInt8] { Array("Bearer ".utf8) + text }
}

package enum AccessTokenAnswer: Equatable, Sendable {
    case granted(AccessToken)
    /// The same request would be refused again: it waits for an operator. `.clock`: look at our clock first.
    case refused(reason: String, alarm: ProviderAlarm)
    /// A passing fault: try again, not sooner than `after`.
    case failed(reason: String, after: Duration?)

    /// An answer has about 1.2 KB. A longer one than this is not read at all.
    package static let bodyBytesMax = 16_384
}

/// An account that a provider grants access tokens. Each process has a token of its own (`AccessTokenCache`).
package protocol AccessTokenSource: Sendable {
    var provider: String { get }
    /// The account's name, for the log.
    var account: String { get }
    /// The address for access tokens.
    var url: String { get }
    /// Returns the form to post there, signed.
    func form(issuedAt: WallInstant) throws(KeyFault) -> [UInt8]
    /// - Parameters:
    ///   - retryAfter: the value of that header; empty if there was none.
    ///   - askedAt: the time at which the request left.
    func read(
        status: Int, body: Span<UInt8>, retryAfter: Span<UInt8>, askedAt: MonotonicInstant, now: WallInstant
    ) -> AccessTokenAnswer
}
