import Basis

/// The id of a tenant, assigned by the database.
package struct AppID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: AppID, right: AppID) -> Bool { left.value < right.value }
}

/// The id of an installation's token of one kind. Ids rise, and a message reaches them up to its horizon.
package struct RegistrationID: Hashable, Comparable, Sendable {
    package let value: Int64
    @inlinable package init(_ value: Int64) { self.value = value }
    package static func < (left: RegistrationID, right: RegistrationID) -> Bool { left.value < right.value }
}

/// The id of app × provider × environment × topic, the route of a registration's pushes. Assigned by the database.
package struct RouteID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: RouteID, right: RouteID) -> Bool { left.value < right.value }
}

/// The id of a bounded part of one message's audience on one route.
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

/// The id of one accepted message.
package struct MessageID: Hashable, Comparable, Sendable {
    package let value: UniversalID
    package init(_ value: UniversalID) { self.value = value }
    package static func < (left: MessageID, right: MessageID) -> Bool { left.value < right.value }
}

/// Rises each time a registration's token is replaced or moves: an old answer never affects a new token.
package struct TokenGeneration: Hashable, Comparable, Sendable {
    package let value: Int32
    @inlinable package init(_ value: Int32) { self.value = value }
    package static func < (left: TokenGeneration, right: TokenGeneration) -> Bool { left.value < right.value }
}

/// The id of one running gateway process, chosen at its start. A lease names its holder by it.
package struct ProcessID: Hashable, Sendable {
    package let value: UniversalID
    package init(_ value: UniversalID) { self.value = value }
}
