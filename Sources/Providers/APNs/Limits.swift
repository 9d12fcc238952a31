/// APNs' own limits, and ours towards it; what connections are held to stands in Lanes. Source: "Sending notification requests", unless said.
package enum APNsLimits {
    /// Of the JSON body, in UTF-8 bytes.
    package static let payloadBytesMax = 4_096
    /// VoIP and broadcast pushes may say more.
    package static let voipPayloadBytesMax = 5_120
    /// In UTF-8 bytes, of `apns-collapse-id`.
    package static let collapseIDBytesMax = 64
    /// The digits of the widest badge there is.
    package static let badgeDigitsMax = 10
    /// Device tokens have grown before (64 digits, then 108, then 160 and more): never check their length, only bound
    /// it. In bytes; twice as many digits.
    package static let tokenBytesMax = 2_048
    /// APNs announces 8,000 for a whole header list. The callers' own parts have limits of their own, below it.
    package static let topicBytesMax = 255

    /// From this many pushes on, a batch's headers that differ from message to message are worth their place in the
    /// peer's small header table.
    package static let indexedBatchMin = 8
}
