/// FCM's own limits, and ours towards it. Source: "FCM HTTP v1 API", "Throttling and quotas", unless another is named.
package enum FCMLimits {
    /// The size of what reaches one device: the UTF-8 bytes of names and values in notification and data, without
    /// punctuation and escapes. Apple's payload, which FCM hands on, counts as JSON.
    ///
    /// Google does not say which parts it counts ("notification and data payload"). We count more than it can mean: the
    /// common notification, the platform's own notification and the platform's data, for the platform with the largest
    /// sum. Headers, keys for the delivery and the token are not counted.
    package static let payloadBytesMax = 4_096
    /// The size of a collapse id, in UTF-8 bytes. It is APNs' bound, because FCM reaches iPhones too; FCM names none.
    package static let collapseIDBytesMax = 64
    /// Four weeks: FCM keeps nothing for longer.
    package static let ttlSecondsMax: Int64 = 2_419_200
    package static let badgeDigitsMax = 10
    /// Registration tokens have no fixed length (currently 140 to 170 characters): never check it, only bound it.
    package static let tokenBytesMax = 4_096
}
