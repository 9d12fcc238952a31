/// APNs' own limits, and ours towards it. Limits of connections are in Lanes. Source: "Sending notification requests to
/// APNs", unless another is named.
package enum APNsLimits {
    package static let payloadBytesMax = 4_096
    /// The size of a VoIP or broadcast push's body.
    package static let voipPayloadBytesMax = 5_120
    /// The size of `apns-collapse-id`, in UTF-8 bytes.
    package static let collapseIDBytesMax = 64
    package static let badgeDigitsMax = 10
    /// Device tokens have grown before (64 digits, then 108, then 160 and more): never check their length, only bound
    /// it. In bytes; a token has twice as many digits.
    package static let tokenBytesMax = 2_048

    /// From this many pushes on, a batch's headers that differ from message to message are worth their place in the
    /// peer's small header table.
    package static let indexedBatchMin = 8
}
