import FCM

// The access tokens that FCM's lanes may use.
extension SimulatedWorld {
    mutating func checkAccess(_ push: WirePush, _ index: Int) {
        guard let access = push.access else {
            if push.provider == .fcm { fail("P7", "a push goes to FCM without an access token") }
            return
        }
        let account = processes[index].accounts.first { $0.credential == push.lane.credential }
        if account?.refused.isEmpty == false { judge(.accessToken) }
        if account?.refused.contains(access) ?? true { fail("P7", "a refused access token is sent again") }
    }
}
