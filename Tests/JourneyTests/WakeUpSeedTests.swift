import JSON
import TestSupport
import Testing

extension Journeys {
    /// The calls of the described service's documents, in their order, with only host, app and token replaced.
    @Suite("The wake-up calls of the described service")
    struct WakeUpSeedTests {
        private static let token = "live-wakeup-0000000000000000"
        private static let path = "/base/garden/.wakeup/some/webcom/path"
        private static let node = "/base/garden/some/webcom/path.json"

        @Test("subscribe a device without a key, wake it when data changes, and end that")
        func noData() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.enableWakeUp(gateway)
                let subscribe = "\(Self.path)?id=\(Self.token)"
                try await gateway.api.expect(204, "PUT", subscribe, isAnonymous: true)
                try await gateway.api.expect(204, "PUT", subscribe, isAnonymous: true)
                try await gateway.api.expect(204, "PUT", Self.node, #"{"a": "b"}"#)
                let first = try await world.google.wakeUps(of: Self.token, count: 1)
                #expect(first == [["t": "noData", "app": "garden", "sp": "/some/webcom/path"]])
                let message = try await world.google.messages(to: Self.token)[0]
                #expect(message["android"]?.object?["priority"] == "HIGH")
                #expect(message["notification"] == nil)
                // The same data again is no update.
                try await gateway.api.expect(204, "PUT", Self.node, #"{"a": "b"}"#)
                try await gateway.api.expect(204, "PUT", "/base/garden/some/webcom/path/below/it.json", "1")
                let second = try await world.google.wakeUps(of: Self.token, count: 2)
                #expect(second.count == 2)
                try await gateway.api.expect(204, "DELETE", subscribe, isAnonymous: true)
                try await gateway.api.expect(204, "DELETE", subscribe, isAnonymous: true)
                try await gateway.api.expect(204, "PUT", Self.node, "1")
                try await eventually("the change to be passed on to nobody") {
                    try await world.database { try await $0.number("SELECT count(*) FROM due_watches") == 0 }
                }
                #expect(try await world.google.messages(to: Self.token).count == 2)
                try await gateway.stopGently()
            }
        }

        @Test("end with a notice when the device gets another user, who sees no value of the first")
        func nextUser() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.enableWakeUp(gateway)
                try await gateway.api.expect(201, "POST", "/v1/apps/garden/user-keys", UserTokens.submission)
                try await gateway.api.expect(
                    204, "PUT", "/v1/apps/garden/rules",
                    #"{"rules": {"users": {"$uid": {".read": "auth.sub == $uid"}}}}"#)
                try await gateway.api.expect(
                    201, "PUT", "/v1/apps/garden/devices/phone",
                    #"{"provider": "fcm", "token": "\#(Self.token)", "user": "ann"}"#)
                func subscribe(_ user: String) async throws {
                    let token = try UserTokens.token(of: user)
                    let path = "/base/garden/.wakeup/users/\(user)?id=\(Self.token)&mode=value&token=\(token)"
                    try await gateway.api.expect(204, "PUT", path, isAnonymous: true)
                }
                func write(_ user: String, _ value: Int) async throws {
                    try await gateway.api.expect(204, "PUT", "/base/garden/users/\(user).json", "\(value)")
                }
                try await subscribe("ann")
                try await write("ann", 1)
                #expect(try await world.google.wakeUps(of: Self.token, count: 1)[0]["d"] == "1")
                try await gateway.api.expect(200, "PATCH", "/v1/apps/garden/devices/phone", #"{"user": "bob"}"#)
                try await write("ann", 2)
                let notice = try await world.google.wakeUps(of: Self.token, count: 2)[1]
                #expect(notice == ["t": "revoke", "r": "permission_denied", "app": "garden", "sp": "/users/ann"])
                try await subscribe("bob")
                try await write("ann", 3)
                try await write("bob", 4)
                let last = try await world.google.wakeUps(of: Self.token, count: 3)
                #expect(last.count == 3 && last[2]["d"] == "4")
                try await gateway.stopGently()
            }
        }

        @Test("send the node's value, or the children that were added, removed and changed")
        func data() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.enableWakeUp(gateway)
                let (value, children) = ("live-value-0000000000000000", "live-children-0000000000000000")
                try await gateway.api.expect(204, "PUT", Self.node, #"{"old": 1, "kept": 2, "gone": {"x": 3}}"#)
                try await gateway.api.expect(204, "PUT", "\(Self.path)?id=\(value)&mode=value", isAnonymous: true)
                try await gateway.api.expect(
                    204, "PUT", "\(Self.path)?id=\(children)&mode=childEvent", isAnonymous: true)
                try await gateway.api.expect(
                    204, "PATCH", Self.node, #"{"old": {"y": 4}, "gone": null, "new": "é"}"#)
                #expect(
                    try await world.google.wakeUps(of: value, count: 1) == [
                        [
                            "s": "OK", "t": "value", "app": "garden", "sp": "/some/webcom/path",
                            "d": #"{"kept":2,"new":"é","old":{"y":4}}"#,
                        ]
                    ])
                #expect(
                    try await world.google.wakeUps(of: children, count: 1) == [
                        [
                            "s": "OK", "t": "childEvent", "app": "garden", "sp": "/some/webcom/path",
                            "added": #"{"new":"é"}"#, "removed": #"["gone"]"#, "changed": #"{"old":{"y":4}}"#,
                        ]
                    ])
                try await gateway.api.expect(204, "DELETE", Self.node)
                let last = try await world.google.wakeUps(of: value, count: 2)[1]
                #expect(last["d"] == "null")
                try await gateway.stopGently()
            }
        }

        @Test("say less of what is too long, and why a subscription ended")
        func limits() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.enableWakeUp(gateway)
                let (value, children) = ("live-value-0000000000000001", "live-children-0000000000000001")
                let address = ["app": "garden", "sp": "/some/webcom/path"]
                func told(_ members: [String: String]) -> [String: String] {
                    members.merging(address) { first, _ in first }
                }
                for (token, mode) in [(value, "value"), (children, "childEvent")] {
                    try await gateway.api.expect(204, "PUT", "\(Self.path)?id=\(token)&mode=\(mode)", isAnonymous: true)
                }
                let long = String(repeating: "x", count: 4_000)
                try await gateway.api.expect(204, "PATCH", Self.node, #"{"one": "\#(long)", "two": 2}"#)
                #expect(
                    try await world.google.wakeUps(of: value, count: 1)[0] == told(["s": "TooBig", "t": "value"]))
                let keys = ["s": "OnlyKeys", "t": "childEvent", "removed": "[]", "changed": "{}"]
                let added = [#"{"one":true,"two":true}"#, #"{"two":true,"one":true}"#]
                let first = try await world.google.wakeUps(of: children, count: 1)[0]
                #expect(added.map { told(keys).merging(["added": $0]) { _, new in new } }.contains(first))

                let many = (0..<400).map { #""key-number-\#($0)": 1"# }.joined(separator: ",")
                try await gateway.api.expect(204, "PATCH", Self.node, "{\(many)}")
                let nothing = ["s": "TooBig", "t": "childEvent", "added": "{}", "removed": "[]", "changed": "{}"]
                #expect(try await world.google.wakeUps(of: children, count: 2)[1] == told(nothing))

                _ = try await world.google.wakeUps(of: value, count: 2)
                try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"enabled": false}}"#)
                for token in [value, children] {
                    let last = try await world.google.wakeUps(of: token, count: 3)[2]
                    #expect(last == told(["t": "revoke", "r": "disabled"]))
                }
                let refused = try await gateway.api.expect(403, "PUT", "\(Self.path)?id=\(value)", isAnonymous: true)
                #expect(refused.text == #"{"status":"disabled"}"#)
                try await gateway.stopGently()
            }
        }

        /// "REST status code, JSON status", and "Revocation causes are".
        @Test("refuse what the document refuses, and tell each device why its subscription ended")
        func refusals() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.enableWakeUp(gateway)
                func refused(_ status: Int, _ word: String, _ path: String = Self.path) async throws {
                    let answer = try await gateway.api.expect(
                        status, "PUT", "\(path)?id=\(Self.token)", isAnonymous: true)
                    #expect(answer.text == #"{"status":"\#(word)"}"#)
                }
                try await refused(404, "namespace_does_not_exist", "/base/nowhere/.wakeup/some/webcom/path")
                try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {}}"#)
                try await refused(403, "permission_denied")
                try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {".read": true}}"#)
                try await gateway.api.expect(204, "PUT", Self.node, #"{"one": 1, "two": 2}"#)
                try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"weight_leaves": 1}}"#)
                try await refused(403, "too_big")

                var count = 0
                /// Subscribes, lets the cause happen, and expects its notice.
                func ended(_ reason: String, by cause: () async throws -> Void) async throws {
                    try await gateway.api.expect(204, "PUT", "\(Self.path)?id=\(Self.token)", isAnonymous: true)
                    try await cause()
                    count += 1
                    let notice = try await world.google.wakeUps(of: Self.token, count: count)[count - 1]
                    #expect(notice == ["t": "revoke", "r": reason, "app": "garden", "sp": "/some/webcom/path"])
                }
                try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"weight_leaves": 2}}"#)
                try await ended("permission_denied") {
                    try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {}}"#)
                }
                try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {".read": true}}"#)
                try await ended("disabled") {
                    let off = #"{"wakeup": {"enabled": false}}"#
                    try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", off)
                }
                try await refused(403, "disabled")
                try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"enabled": true}}"#)
                try await ended("expired") {
                    try await world.database { try await $0.script("UPDATE subscriptions SET expires_at = now()") }
                }
                try await ended("too_big") {
                    try await gateway.api.expect(204, "PATCH", Self.node, #"{"three": 3}"#)
                }
                try await gateway.api.expect(204, "PATCH", Self.node, #"{"three": null}"#)
                try await ended("namespace_does_not_exist") {
                    try await gateway.api.expect(202, "DELETE", "/v1/apps/garden")
                }
                try await gateway.stopGently()
            }
        }
    }
}

extension World {
    /// Creates the app with a credential for FCM, switches wake-up on, and lets everybody read.
    fileprivate func enableWakeUp(_ gateway: Gateway) async throws {
        try await fill(.garden, [], through: gateway)
        try await gateway.api.expect(201, "POST", "/v1/apps/garden/credentials", google.credential)
        try await gateway.api.expect(200, "PATCH", "/v1/apps/garden", #"{"wakeup": {"enabled": true, "gather_ms": 0}}"#)
        try await gateway.api.expect(204, "PUT", "/v1/apps/garden/rules", #"{"rules": {".read": true}}"#)
    }
}

extension GoogleStandIn {
    /// The data maps that a token received, in their order, once there are as many.
    func wakeUps(of token: String, count: Int) async throws -> [[String: String]] {
        try await eventually("\(count) wake-ups") { try await messages(to: token).count >= count }
        return try await messages(to: token).map { message in
            let members = message["data"]?.object?.members ?? []
            return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.string ?? "not a string") })
        }
    }
}
