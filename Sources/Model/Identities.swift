import Basis

/// A tenant. Assigned by the database.
package struct AppID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: AppID, right: AppID) -> Bool { left.value < right.value }
}

/// An installation's token of one kind. Rising: a message reaches those at most as high as its horizon.
package struct RegistrationID: Hashable, Comparable, Sendable {
    package let value: Int64
    @inlinable package init(_ value: Int64) { self.value = value }
    package static func < (left: RegistrationID, right: RegistrationID) -> Bool { left.value < right.value }
}

/// app × provider × environment × topic: where a registration's pushes leave from. Assigned by the database.
package struct RouteID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: RouteID, right: RouteID) -> Bool { left.value < right.value }
}

/// A bounded slice of one message's audience on one route.
package struct ParcelID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: ParcelID, right: ParcelID) -> Bool { left.value < right.value }
}

package struct CredentialID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: CredentialID, right: CredentialID) -> Bool { left.value < right.value }
}

/// One accepted message.
package struct MessageID: Hashable, Comparable, Sendable {
    package let value: UniversalID
    package init(_ value: UniversalID) { self.value = value }
    package static func < (left: MessageID, right: MessageID) -> Bool { left.value < right.value }
}

/// Raised each time a registration's token is replaced or moves: an old answer never judges a new token.
package struct TokenGeneration: Hashable, Comparable, Sendable {
    package let value: Int32
    @inlinable package init(_ value: Int32) { self.value = value }
    package static func < (left: TokenGeneration, right: TokenGeneration) -> Bool { left.value < right.value }
}

/// One running gateway process. Chosen at its start, so that a lease names who holds it.
package struct ProcessID: Hashable, Sendable {
    package let value: UniversalID
    package init(_ value: UniversalID) { self.value = value }
}
