/// The destination of a route's pushes, from the credential and the route.
package struct PushTarget: Sendable, Equatable {
    package let provider: Provider
    /// The destination in the provider's own terms: the app's bundle id at APNs, the path with the project at FCM.
    package let address: String

    package init(_ provider: Provider, _ address: String) { (self.provider, self.address) = (provider, address) }
}
