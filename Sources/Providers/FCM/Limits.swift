/// FCM's own limits, and ours towards it. Source: "FCM HTTP v1 API", "Throttling and quotas", unless said.
package enum FCMLimits {
    /// Of what reaches one device: notification and data, as JSON in UTF-8 bytes, names and punctuation included.
    ///
    /// Google does not say what exactly it counts ("notification and data payload"). We count more than it can mean:
    /// the common notification together with the platform's own, and the platform's data, for the platform where that is
    /// the most. Headers, keys for the delivery and the token are not counted.
    package static let payloadBytesMax = 4_096
    /// In UTF-8 bytes; APNs' bound, because iPhones stand behind FCM too. FCM names none of its own.
    package static let collapseIDBytesMax = 64
    /// Four weeks: FCM keeps nothing for longer.
    package static let ttlSecondsMax: Int64 = 2_419_200
    /// The digits of the widest badge there is.
    package static let badgeDigitsMax = 10
    /// Registration tokens have no fixed length (140 to 170 characters these days): never check it, only bound it.
    package static let tokenBytesMax = 4_096

    /// Messages a minute that a project may send unless Google granted it more; counted in a token bucket whose minutes
    /// are not the clock's.
    package static let messagesPerMinute = 600_000
}
